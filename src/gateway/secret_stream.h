// Patterns found and rewritten in a stream that comes in pieces of any size. What could still
// become a match is held back (never more than the longest pattern), everything else goes on at
// once: an event stream isn't delayed by it. How long it may be held is said in held_tail.h.
#pragma once

#include <string>
#include <string_view>

#include "gateway/secret_patterns.h"

namespace caisson {

enum class OnMatch { kGoOn, kStop };

class PatternStream {
 public:
  explicit PatternStream(const PatternSet& patterns) : patterns_(&patterns) {}
  ~PatternStream();
  PatternStream(PatternStream&& other) noexcept;

  // Appends to `out` what is decided. `rewrite(pattern, out)` appends what stands for a match; when
  // it answers kStop the stream is over: false, and nothing behind the match is told.
  template <typename Rewrite>
  bool feed(std::string_view chunk, std::string& out, Rewrite&& rewrite) {
    if (stopped_) return false;
    if (held_.empty()) {
      size_t kept = pass(chunk, End::kOpen, out, rewrite);
      held_.assign(chunk.substr(kept));
    } else {
      held_.append(chunk);
      held_.erase(0, pass(held_, End::kOpen, out, rewrite));
    }
    return !stopped_;
  }
  // Decides with what has come; it may be fed again, and begins anew then.
  template <typename Rewrite>
  bool finish(std::string& out, Rewrite&& rewrite) {
    if (stopped_) return false;
    pass(held_, End::kHere, out, rewrite);
    held_.clear();
    return !stopped_;
  }

  bool holds() const { return !held_.empty(); }

 private:
  enum class End { kOpen, kHere };

  // The offset from which `text` has to be kept.
  template <typename Rewrite>
  size_t pass(std::string_view text, End end, std::string& out, Rewrite& rewrite) {
    size_t at = 0;
    size_t limit = end == End::kHere ? text.size() : patterns_->undecided(text);
    while (true) {
      std::optional<PatternSet::Match> match = patterns_->find(text, at);
      // A longer match that begins no later may still come.
      if (!match || match->position >= limit) break;
      out.append(text, at, match->position - at);
      at = match->position + patterns_->pattern(match->pattern).size();
      if (rewrite(match->pattern, out) == OnMatch::kStop) {
        stopped_ = true;
        return text.size();
      }
      if (end == End::kOpen && limit < at) limit = patterns_->undecided(text, at);
    }
    out.append(text, at, limit - at);
    return limit;
  }

  const PatternSet* patterns_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace caisson

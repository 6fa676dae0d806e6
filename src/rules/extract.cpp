// Every way through the program is followed at once, one byte of the text at a time (Thompson's
// method, with Pike's saved positions): no pattern makes it go back.
#include "rules/extract.h"

#include <string>

namespace caisson {
namespace {

constexpr size_t kNowhere = SIZE_MAX;

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool at_boundary(std::string_view text, size_t at) {
  bool before = at > 0 && is_word(text[at - 1]), behind = at < text.size() && is_word(text[at]);
  return before != behind;
}

struct Saved {
  size_t begin = kNowhere, end = kNowhere;
};

}  // namespace

// The threads that are at one place of the text, the preferred ones first; each step at most once.
class Extractor::Threads {
 public:
  explicit Threads(size_t steps) : seen_(steps, false) { list.reserve(steps); }

  struct Thread {
    uint32_t step;
    Saved saved;
  };
  std::vector<Thread> list;

  void clear() {
    for (uint32_t step : marked_) seen_[step] = false;
    marked_.clear();
    list.clear();
  }

  // Follows everything that takes no byte. By a stack of its own: a pattern has thousands of steps.
  void add(const Extractor& program, std::string_view text, size_t at, Thread start) {
    stack_.push_back(start);
    while (!stack_.empty()) {
      Thread thread = stack_.back();
      stack_.pop_back();
      if (seen_[thread.step]) continue;
      seen_[thread.step] = true;
      marked_.push_back(thread.step);
      follow(program.steps_[thread.step], text, at, thread);
    }
  }

 private:
  void follow(const Step& step, std::string_view text, size_t at, Thread thread) {
    bool goes_on = true;
    switch (step.op) {
      case Op::kBytes:
      case Op::kMatch:
        list.push_back(thread);
        return;
      case Op::kSplit:
        stack_.push_back({step.second, thread.saved});
        stack_.push_back({step.first, thread.saved});
        return;
      case Op::kJump:
        stack_.push_back({step.first, thread.saved});
        return;
      case Op::kSave:
        (step.first == 0 ? thread.saved.begin : thread.saved.end) = at;
        break;
      case Op::kStart:
        goes_on = at == 0;
        break;
      case Op::kEnd:
        goes_on = at == text.size();
        break;
      case Op::kBoundary:
        goes_on = at_boundary(text, at);
        break;
      case Op::kInside:
        goes_on = !at_boundary(text, at);
        break;
    }
    if (goes_on) stack_.push_back({thread.step + 1, thread.saved});
  }

  std::vector<bool> seen_;
  std::vector<uint32_t> marked_;
  std::vector<Thread> stack_;
};

std::optional<Extract> Extractor::find(std::string_view text, size_t from) const {
  Threads now(steps_.size()), then(steps_.size());
  std::optional<Extract> found;
  for (size_t at = from; at <= text.size(); ++at) {
    // A later start only while nothing was found: the leftmost match wins.
    if (!found) now.add(*this, text, at, {0, {}});
    if (now.list.empty()) {
      if (found) break;
      now.clear();
      continue;
    }
    for (const Threads::Thread& thread : now.list) {
      const Step& step = steps_[thread.step];
      if (step.op == Op::kMatch) {
        bool took_part = thread.saved.begin != kNowhere && thread.saved.end != kNowhere;
        if (!took_part) continue;
        found = Extract{thread.saved.begin, thread.saved.end, at};
        break;  // what is preferred less is given up
      }
      if (at < text.size() && sets_[step.first].has(static_cast<uint8_t>(text[at])))
        then.add(*this, text, at + 1, {thread.step + 1, thread.saved});
    }
    now.clear();
    std::swap(now, then);
  }
  return found;
}

}  // namespace caisson

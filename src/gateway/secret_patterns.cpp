#include "gateway/secret_patterns.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace caisson {
namespace {

size_t pair_of(std::string_view text) {
  return static_cast<unsigned char>(text[0]) << 8 | static_cast<unsigned char>(text[1]);
}

}  // namespace

PatternSet::PatternSet(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {
  if (patterns_.empty()) return;
  size_tables();
  for (uint32_t i = 0; i < patterns_.size(); ++i) add(i);
  std::ranges::sort(sorted_, {}, [this](uint32_t i) -> const std::string& { return patterns_[i]; });
}

PatternSet::~PatternSet() {
  for (std::string& pattern : patterns_) OPENSSL_cleanse(pattern.data(), pattern.size());
}

void PatternSet::size_tables() {
  window_ = kMaxWindow;
  for (const std::string& pattern : patterns_) {
    assert(pattern.size() >= kMinPattern);
    window_ = std::min(window_, pattern.size());
    longest_ = std::max(longest_, pattern.size());
  }
  size_t blocks = patterns_.size() * (window_ - kBlock + 1);
  size_t slots = std::bit_ceil(std::clamp<size_t>(16 * blocks, 1024, 65536));
  drop_bits_ = 32 - std::countr_zero(slots);
  shifts_.assign(slots, static_cast<uint8_t>(window_ - kBlock + 1));
  heads_.assign(slots, kNone);
  nexts_.assign(patterns_.size(), kNone);
  first_pairs_.assign(65536, false);
}

void PatternSet::add(uint32_t index) {
  const std::string& pattern = patterns_[index];
  for (size_t end = kBlock; end <= window_; ++end) {
    size_t at = slot(pattern.data() + end);
    shifts_[at] = std::min(shifts_[at], static_cast<uint8_t>(window_ - end));
  }
  uint32_t& head = heads_[slot(pattern.data() + window_)];
  nexts_[index] = std::exchange(head, index);
  first_bytes_.set(static_cast<unsigned char>(pattern[0]));
  first_pairs_[pair_of(pattern)] = true;
  sorted_.push_back(index);
}

size_t PatternSet::slot(const char* end) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(end) - kBlock;
  uint32_t block = bytes[0] | bytes[1] << 8 | bytes[2] << 16;
  return (block * 0x9e3779b1u) >> drop_bits_;
}

std::optional<PatternSet::Match> PatternSet::find(std::string_view text, size_t from) const {
  if (patterns_.empty()) return std::nullopt;
  for (size_t end = from + window_; end <= text.size();) {
    size_t at = slot(text.data() + end);
    if (size_t shift = shifts_[at]) {
      end += shift;
      continue;
    }
    if (auto match = match_at(text, end - window_, heads_[at])) return match;
    ++end;
  }
  return std::nullopt;
}

std::optional<PatternSet::Match> PatternSet::match_at(std::string_view text, size_t position,
                                                      uint32_t first) const {
  std::string_view rest = text.substr(position);
  std::optional<Match> best;
  for (uint32_t i = first; i != kNone; i = nexts_[i]) {
    if (!rest.starts_with(patterns_[i])) continue;
    if (!best || patterns_[i].size() > patterns_[best->pattern].size()) best = {position, i};
  }
  return best;
}

size_t PatternSet::undecided(std::string_view text, size_t from) const {
  if (patterns_.empty()) return text.size();
  size_t reach = longest_ - 1;
  size_t at = std::max(from, text.size() - std::min(reach, text.size()));
  for (; at < text.size(); ++at) {
    std::string_view tail = text.substr(at);
    bool starts = tail.size() >= 2 ? first_pairs_[pair_of(tail)]
                                   : first_bytes_[static_cast<unsigned char>(tail[0])];
    if (starts && could_grow(tail)) return at;
  }
  return text.size();
}

// Patterns that begin with `tail` and go on follow it directly in the order of their bytes.
bool PatternSet::could_grow(std::string_view tail) const {
  auto bytes = [this](uint32_t i) { return std::string_view(patterns_[i]); };
  auto next = std::ranges::upper_bound(sorted_, tail, {}, bytes);
  return next != sorted_.end() && bytes(*next).starts_with(tail);
}

}  // namespace caisson

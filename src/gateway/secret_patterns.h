// Many literal patterns at once, in one pass (Wu and Manber's method: most windows are skipped
// after a look at their last three bytes).
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

class PatternSet {
 public:
  static constexpr size_t kMinPattern = 4;

  struct Match {
    size_t position;
    uint32_t pattern;
  };

  PatternSet() = default;
  explicit PatternSet(std::vector<std::string> patterns);  // each has kMinPattern bytes or more
  ~PatternSet();                                           // wipes: the patterns are secrets
  PatternSet(PatternSet&&) = default;
  PatternSet& operator=(PatternSet&&) = default;

  // The leftmost match at or behind `from`; of several at one place the longest.
  std::optional<Match> find(std::string_view text, size_t from = 0) const;
  // Where the first tail of `text` (at or behind `from`) begins that more bytes could make a match;
  // text.size() when none could.
  size_t undecided(std::string_view text, size_t from = 0) const;

  bool empty() const { return patterns_.empty(); }
  size_t longest() const { return longest_; }
  const std::string& pattern(uint32_t index) const { return patterns_[index]; }

 private:
  static constexpr size_t kBlock = 3;
  static constexpr size_t kMaxWindow = 32;
  static constexpr uint32_t kNone = UINT32_MAX;

  void size_tables();
  void add(uint32_t index);
  size_t slot(const char* end) const;  // of the block that ends at `end`
  std::optional<Match> match_at(std::string_view text, size_t position, uint32_t first) const;
  bool could_grow(std::string_view tail) const;

  std::vector<std::string> patterns_;
  std::vector<uint32_t> sorted_;  // the same by their bytes
  size_t longest_ = 0;
  size_t window_ = 0;            // bytes of each pattern that the tables know
  int drop_bits_ = 0;            // of a 32-bit hash, to make it a slot
  std::vector<uint8_t> shifts_;  // how far a window may move on, by the slot of its last block
  std::vector<uint32_t> heads_;  // where the shift is 0: a pattern whose window ends in that block
  std::vector<uint32_t> nexts_;  // the next pattern in the same slot
  std::bitset<256> first_bytes_;
  std::vector<bool> first_pairs_;  // a tail of two bytes or more is looked up here first
};

}  // namespace caisson

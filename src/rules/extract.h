// Finds a secret in a text by a pattern whose group 1 is the secret: what a person writes as a
// regular expression of JavaScript, in a time that grows with the text and never faster.
//
// Known: literals; . [abc] [^a-z]; \d \D \w \W \s \S; \b \B; ^ and $ (of the whole text); ( ) and
// (?: ) and (?<name> ); |; * + ? {n} {n,} {n,m}, each lazily with a ? behind; \n \r \t \v \f \0
// \xHH \uHHHH, and any other sign behind \ for itself. Bytes are matched, not code points: a
// character beyond ASCII is its UTF-8 bytes, and can't stand in a class. Unknown, and refused with
// what it is: look-around, back-references, \p, flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace caisson {

// A part of a text.
struct Extract {
  size_t begin = 0, end = 0;  // of group 1
  size_t match_end = 0;       // where to look for the next one
};

class Extractor {
 public:
  static constexpr size_t kMaxPattern = 1024;
  static constexpr size_t kMaxSteps = 4096;  // of the program: {n,m} repeats what it is behind

  // Refused: a pattern that has no group, or that this doesn't know.
  static Result<Extractor> make(std::string_view pattern);

  // The leftmost match at or behind `from` in which group 1 took part.
  std::optional<Extract> find(std::string_view text, size_t from = 0) const;

 private:
  friend class ExtractCompiler;
  enum class Op : uint8_t {
    kBytes,
    kSplit,
    kJump,
    kSave,
    kStart,
    kEnd,
    kBoundary,
    kInside,
    kMatch
  };
  struct Step {
    Op op;
    uint32_t first = 0, second = 0;  // kSplit: first is preferred; kBytes: a set; kSave: a slot
  };
  struct Set {
    uint64_t bits[4] = {};
    void add(uint8_t byte) { bits[byte >> 6] |= uint64_t{1} << (byte & 63); }
    bool has(uint8_t byte) const { return bits[byte >> 6] >> (byte & 63) & 1; }
  };
  class Threads;

  std::vector<Step> steps_;
  std::vector<Set> sets_;
};

}  // namespace caisson

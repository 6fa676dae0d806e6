// Patterns of `load`, part by part: `*`, `?` and `[…]` within one name. glob(3) would look up each
// name by itself, past the rules, for as long as it takes, and its matcher takes exponential time
// for what a client can write. The warden's matcher is blind to case, which a shell's is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace caisson::session {

struct PatternPart {
  std::string text;  // of a plain one the name itself, without backslashes
  bool is_wild = false;
  bool operator==(const PatternPart&) const = default;
};

bool has_wildcard(std::string_view path);

// Those between the slashes; empty ones and "." are left out.
Result<std::vector<PatternPart>> pattern_parts(std::string_view path);

// A pattern as it is walked: what is plain in it is put together once, and not for each name that a
// wildcard finds.
struct PatternStep {
  std::string lead;  // "/a/b": plain parts, before the wildcard
  std::string wild;  // "*.csv"
  bool operator==(const PatternStep&) const = default;
};
struct PatternWay {
  std::vector<PatternStep> steps;
  std::string tail;  // behind the last wildcard
};
PatternWay way_of(const std::vector<PatternPart>& parts);

// A name with a dot in front is matched only by a pattern that has one there. In time that is the
// product of the lengths at most.
bool matches_part(std::string_view pattern, std::string_view name);

}  // namespace caisson::session

// A tree of settings held against the table of keys: what is wrong with it, all of it at once, and
// what in it has no meaning on this platform.
#pragma once

#include <string>
#include <vector>

#include "srt/json_tree.h"

namespace caisson::srt {

// kLenient: unknown keys say nothing, as with srt; those that srt refuses are errors all the same.
enum class Unknown { kError, kLenient };

struct Problem {
  size_t line = 0;   // 0: of no line
  std::string path;  // "network.allowedDomains[2]"; "" is the whole
  std::string what, hint;
};

struct Remark {
  size_t line = 0;
  std::string path, text;
};

struct Checked {
  std::vector<Problem> problems;
  std::vector<Remark> remarks;
};

Checked check(const Node& root, Unknown unknown);

// "settings.json:12: network.allowedDomains: must be an array of hosts, not a string"
std::string problem_text(const Problem& problem, const std::string& file);

}  // namespace caisson::srt

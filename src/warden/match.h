// A path against a pattern, component by component.
#pragma once

#include "warden/rules.h"

namespace caisson::warden {

struct Match {
  // The pattern matches the path itself or a folder above it; `matched` bytes of the path do.
  bool hit = false;
  uint32_t matched = 0;
  // Something below the path could be matched because of what the path is: "/home/ann" and
  // "x/.git" are ancestors for "/home/ann/**/.git/hooks", "x" alone is not.
  bool ancestor = false;
  uint64_t loops = 0;  // which "**" the path lies in
};

// `path` is absolute and canonical: no empty part, no dot, no slash at its end.
Match match(const Pattern&, const char* path, uint32_t size);

// Letters are compared without their case: a folder of ext4 or a share can be told to do the same,
// and then ".BASHRC" is ".bashrc" (T06).
bool part_matches(const Part&, const char* name, uint32_t size);

}  // namespace caisson::warden

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

// "/p/**/.git/hooks": its first name is `.git`.
bool begins_at_any_depth(const Pattern&);
// Whether a path of that size must have the pattern's first name: without it match() neither hits
// nor is the path an ancestor.
bool needs_first_name(const Pattern&, uint32_t size);

// Where the name begins in a path that the pattern matches, or that leads to it: the end of the
// folder that holds its first part ("/p/x" of "/p/x/.git/hooks"), at `from` or later. It may be
// more than one place. kNowhere: there is none.
constexpr uint32_t kNowhere = 0xffffffff;
uint32_t begins_at(const Pattern&, const char* path, uint32_t size, uint32_t from);

// Where git itself keeps more than one HEAD: below a `.git`, which nobody makes in an older folder,
// and in `logs`, `refs`, `worktrees` and `modules` of a bare repository, where nobody works. Asked
// of what comes behind the path's first `from` bytes. Here letters have their case: it is an
// exception.
bool lies_in_repository(const char* path, uint32_t from, uint32_t size);

bool part_matches(const Part&, const char* name, uint32_t size, Letters = Letters::kAnyCase);

}  // namespace caisson::warden

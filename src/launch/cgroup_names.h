// The names of our cgroups tell whose they are, so that what a crash left can be told from what is
// in use.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "plan/plan.h"

namespace caisson {

// "caisson-<pid>-<when>-<random>": the owner's pid, and the time since boot in clock ticks.
std::string new_cgroup_name();
// "caisson-supervisor-<pid>": the leaf that a v2 supervisor steps aside into, one per process.
std::string supervisor_leaf_name();

struct CgroupOwner {
  pid_t pid = 0;
  std::optional<uint64_t> when;  // a leaf has none: it is never empty while its owner lives
  bool operator==(const CgroupOwner&) const = default;
};
std::optional<CgroupOwner> owner_of_cgroup(std::string_view name);

// No such process, or one that started after the name was given: the number was used again.
bool is_gone(const CgroupOwner&);

// Removes the folders of owners that are gone, where they are empty, beside where a cell of this
// plan would be. An owner in another pid namespace looks gone from here; its folders, being in use,
// stay. Returns how many were removed. Not for the way to a cell's start: it reads directories.
size_t sweep_stale_cgroups(const CgroupPlan&);

}  // namespace caisson

// Where this user can make a cgroup for a cell: one read of /proc/self/cgroup and a few looks.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "plan/host_facts.h"

namespace caisson {

enum class CgroupFs { kOther, kV1, kV2 };

// The seam to the outside world. The defaults are the real host; tests point it at a tree of
// ordinary files and say what statfs(2) and access(2) would.
struct CgroupView {
  std::string prefix;  // before every path that is looked at; never part of an answer
  uid_t uid = ::geteuid();
  pid_t pid = ::getpid();
  std::optional<std::string> runtime_dir;  // unset: $XDG_RUNTIME_DIR, else /run/user/UID
  CgroupFs (*filesystem)(const std::string& path) = nullptr;  // nullptr: statfs(2)
  bool (*writable)(const std::string& path) = nullptr;        // nullptr: access(2)
};

CgroupFacts probe_cgroups(const CgroupView& view = {});

}  // namespace caisson

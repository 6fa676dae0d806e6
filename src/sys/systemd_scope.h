// cgroup v2 on desktops: a login session's own cgroup belongs to root, but systemd's user manager
// gives a program a scope of its own, with the right to make cgroups in it, for the asking.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace caisson {

// Asks the user manager, by the bus below `runtime_dir` ("/run/user/1000"), to move `pid` into a
// new scope with Delegate=yes, and waits until it is there; two seconds at most. The scope goes
// when the process ends. `proc` is where the move is watched.
Result<void> enter_delegated_scope(const std::string& runtime_dir, pid_t pid,
                                   const std::string& proc = "/proc");

}  // namespace caisson

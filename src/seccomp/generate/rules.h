// What the filters ask about the arguments of a call, for those that more than one list has.
#pragma once

#include <linux/sched.h>

#include "seccomp/generate/rule.h"

namespace caisson {

// CLONE_NEWTIME is there for unshare; in clone(2) its bit belongs to the exit signal, where no
// valid signal has it.
constexpr uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME;
static_assert(kNewNamespaces == 0x7e020080);

constexpr uint32_t kSocketType = 0xf;  // SOCK_TYPE_MASK: the rest is SOCK_NONBLOCK and SOCK_CLOEXEC

inline Rule allow_if(std::vector<ArgumentTest> tests, Verdict otherwise) {
  return {{{std::move(tests), kAllow}}, otherwise};
}

inline Rule allow_unless(std::vector<ArgumentTest> tests, Verdict then) {
  return {{{std::move(tests), then}}, kAllow};
}
inline Rule allow_unless(ArgumentTest test, Verdict then) {
  return allow_unless(std::vector{std::move(test)}, then);
}

Rule socket_rule();
Rule socket_option_rule();
Rule chmod_rule(unsigned mode_argument);
Rule mknod_rule(unsigned mode_argument);
Rule open_rule(unsigned flags_argument);  // the mode is the argument behind them
Rule ioctl_rule();
Rule fcntl_rule();
Rule attribute_rule();  // setxattr and its kin
Rule mmap_rule();
Rule memfd_rule();
Rule shmget_rule();
Rule limit_rule();      // prlimit64
Rule own_limit_rule();  // … without others to look at
Rule scheduler_rule();
Rule personality_rule();

}  // namespace caisson

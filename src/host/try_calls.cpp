// System calls that a cell is made with, besides namespaces and mounts.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>

#include "host/trial.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson {

namespace {

enum { kClone3, kPidfd, kCloseRange, kOpenat2 };

// The child is a zombie until it is waited for, and a zombie can be sent a signal.
void try_pidfd(TrialSteps steps) {
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD;
  args.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  long pid = steps.take(kClone3, [&] {
    long made = sys_call(kernel::kClone3, &args, long{sizeof args});
    if (made == 0) sys_call(SYS_exit_group, 0L);
    return made;
  });
  if (pid < 0) return;
  steps.take(kPidfd,
             [&] { return sys_call(SYS_pidfd_send_signal, long{pidfd}, long{SIGKILL}, 0L, 0L); });
  sys_call(SYS_wait4, pid, 0L, 0L, 0L);
}

long close_nothing() { return sys_call(kernel::kCloseRange, 0xfffffff0L, 0xffffffffL, 0L); }

long open_root() {
  kernel::OpenHow how{O_PATH | O_CLOEXEC, 0, kernel::kResolveNoSymlinks};
  return sys_call(kernel::kOpenat2, long{AT_FDCWD}, "/", &how, long{sizeof how});
}

// A filter that lets everything pass.
long install_filter(long flags) {
  sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{1, allow};
  return sys_call(SYS_seccomp, long{SECCOMP_SET_MODE_FILTER}, flags, &program);
}

long no_new_privileges() { return sys_call(SYS_prctl, long{PR_SET_NO_NEW_PRIVS}, 1L, 0L, 0L, 0L); }

long try_to_restrict() {
  kernel::LandlockRuleset rules{1 /* LANDLOCK_ACCESS_FS_EXECUTE */, 0, 0};
  constexpr long kFirstAbiSize = sizeof rules.handled_fs;
  long ruleset = sys_call(kernel::kLandlockCreateRuleset, &rules, kFirstAbiSize, 0L);
  if (ruleset < 0) return ruleset;
  no_new_privileges();
  return sys_call(kernel::kLandlockRestrictSelf, ruleset, 0L);
}

}  // namespace

void try_process_calls(DeepFacts& facts) {
  Trial trial = run_trial(0, [](TrialSteps steps) {
    try_pidfd(steps);
    steps.take(kCloseRange, close_nothing);
    steps.take(kOpenat2, open_root);
  });
  facts.clone3 = trial.attempt(kClone3, "clone3");
  facts.pidfd = trial.attempt(kPidfd, "pidfd_send_signal");
  facts.close_range = trial.attempt(kCloseRange, "close_range");
  facts.openat2 = trial.attempt(kOpenat2, "openat2");
}

void try_seccomp(DeepFacts& facts) {
  Trial trial = run_trial(0, [](TrialSteps steps) {
    no_new_privileges();
    if (steps.take(0, [] { return install_filter(0); }) < 0) return;
    // EBUSY when a filter above has a listener already: there can be one.
    steps.take(1, [] { return install_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER); });
  });
  facts.filter = trial.attempt(0, "install a filter");
  facts.notification = trial.attempt(1, "install a filter with a listener");
}

void try_landlock(DeepFacts& facts) {
  Trial trial = run_trial(0, [](TrialSteps steps) { steps.take(0, try_to_restrict); });
  facts.landlock = trial.attempt(0, "landlock_restrict_self");
}

}  // namespace caisson

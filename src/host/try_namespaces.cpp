#include <linux/capability.h>
#include <linux/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "host/trial.h"
#include "sys/raw_syscall.h"

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

namespace caisson {

namespace {

long fork_and_reap() {
  long pid = plain_fork();
  if (pid == 0) sys_call(SYS_exit_group, 0L);
  if (pid > 0) sys_call(SYS_wait4, pid, 0L, 0L, 0L);
  return pid;
}

long drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  return sys_call(SYS_capset, &header, none);
}

long limit_processes(rlim_t most) {
  rlimit limit{most, most};
  return sys_call(SYS_prlimit64, 0L, long{RLIMIT_NPROC}, &limit, 0L);
}

// With room for two the second process must come to be, with room for one it must not. The first
// fails before Linux 5.14, where every process of the user counts; the second for the host's root,
// whom RLIMIT_NPROC never binds, not even without capabilities (copy_process(), kernel/fork.c).
enum { kRoomForTwo = kMapSteps, kRoomForOne };
void try_process_limit(TrialSteps steps) {
  if (drop_capabilities() < 0 || limit_processes(2) < 0) return;
  steps.take(kRoomForTwo, fork_and_reap);
  steps.take(kRoomForOne, [] {
    long result = limit_processes(1);
    if (result < 0) return result;
    return fork_and_reap() == -EAGAIN ? 0L : long{-EOVERFLOW};
  });
}

long bring_up_loopback() {
  long socket = sys_call(SYS_socket, long{AF_UNIX}, long{SOCK_DGRAM | SOCK_CLOEXEC}, 0L);
  if (socket < 0) return socket;
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  return sys_call(SYS_ioctl, socket, long{SIOCSIFFLAGS}, &request);
}

}  // namespace

void try_user_namespace(DeepFacts& facts) {
  uid_t uid = facts.host.uid;
  gid_t gid = facts.host.gid;
  Trial trial = run_trial(CLONE_NEWUSER, [=](TrialSteps steps) {
    if (write_id_maps(steps, 0, uid, gid)) try_process_limit(steps);
  });
  facts.user_namespace = trial.birth_attempt("clone(CLONE_NEWUSER)");
  for (size_t i = 0; i < kMapSteps && facts.user_namespace.worked(); ++i)
    if (trial.steps[i] != 0) facts.user_namespace = trial.attempt(i, map_step_name(i));
  facts.process_limit_alone = trial.attempt(kRoomForTwo, "fork with RLIMIT_NPROC 2");
  facts.process_limit = trial.attempt(kRoomForOne, "refuse a fork with RLIMIT_NPROC 1");
}

// Each with a user namespace of its own around it, which is how an ordinary user gets any.
void try_namespaces(DeepFacts& facts) {
  struct Kind {
    const char *name, *limit_name;
    uint64_t flag;
  };
  constexpr Kind kKinds[] = {
      {"mount", "mnt", CLONE_NEWNS},    {"pid", "pid", CLONE_NEWPID},
      {"network", "net", CLONE_NEWNET}, {"ipc", "ipc", CLONE_NEWIPC},
      {"uts", "uts", CLONE_NEWUTS},     {"cgroup", "cgroup", CLONE_NEWCGROUP}};
  for (const Kind& kind : kKinds) {
    NamespaceFacts found{kind.name, kind.limit_name, std::nullopt, {}};
    if (facts.user_namespace.worked()) {
      bool is_network = kind.flag == CLONE_NEWNET;
      Trial trial = run_trial(CLONE_NEWUSER | kind.flag, [=](TrialSteps steps) {
        if (is_network) steps.take(0, bring_up_loopback);
      });
      found.made = trial.birth_attempt("clone");
      if (is_network) facts.loopback = trial.attempt(0, "bring up lo");
    }
    facts.namespaces.push_back(std::move(found));
  }
}

}  // namespace caisson

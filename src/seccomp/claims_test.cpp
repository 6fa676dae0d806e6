// What the filters are for, said call by call, without a look at the table.
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "seccomp/claims_fixture.h"

namespace caisson {
namespace {

INSTANTIATE_TEST_SUITE_P(On, SeccompClaims, testing::ValuesIn(kArchs), arch_label);

// T31
TEST_P(SeccompClaims, NoNewNamespaceOfAnyKind) {
  for (uint64_t flag : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
                        CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWTIME}) {
    both_for_programs(fail(EPERM), "unshare", {flag});
    both_for_programs(fail(EPERM), "unshare", {flag | CLONE_FS | kUnread});
    both_for_programs(fail(EPERM), "clone", {flag | SIGCHLD});
    both_for_programs(fail(EPERM), "clone", {flag | CLONE_VM | CLONE_VFORK | kUnread});
    expect(FilterName::kNested, kAllow, "clone", {flag | SIGCHLD});
    expect(FilterName::kNested, kAllow, "unshare", {flag});
  }
  both_for_programs(fail(ENOSYS), "clone3");
  both_for_programs(fail(EPERM), "setns");
  expect(FilterName::kNested, kAllow, "clone3");
  expect(FilterName::kNested, kAllow, "setns");
}

TEST_P(SeccompClaims, ProcessesAndThreadsCanBeMade) {
  standard(kAllow, "clone", {SIGCHLD});
  standard(kAllow, "clone", {CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD});
  standard(kAllow, "clone",
           {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
            CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID});
  standard(kAllow, "unshare", {CLONE_FILES | CLONE_FS});
  for (const char* call : {"fork", "vfork", "execve", "execveat", "wait4", "exit_group"})
    standard(kAllow, call);
}

// T32
TEST_P(SeccompClaims, NoMounts) {
  for (const char* call : {"mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount",
                           "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"}) {
    both_for_programs(fail(EPERM), call);
    expect(FilterName::kNested, kAllow, call);
    expect(FilterName::kInit, kKill, call);
  }
}

// T34, T35, T63, T65
TEST_P(SeccompClaims, NoKernelInterfaceOfTheMachineOrOfOthers) {
  for (const char* call : {"open_by_handle_at",
                           "name_to_handle_at",
                           "bpf",
                           "perf_event_open",
                           "userfaultfd",
                           "add_key",
                           "request_key",
                           "keyctl",
                           "kexec_load",
                           "kexec_file_load",
                           "init_module",
                           "finit_module",
                           "delete_module",
                           "quotactl",
                           "quotactl_fd",
                           "swapon",
                           "swapoff",
                           "acct",
                           "reboot",
                           "iopl",
                           "ioperm",
                           "modify_ldt",
                           "vmsplice",
                           "ptrace",
                           "process_vm_readv",
                           "process_vm_writev",
                           "pidfd_getfd",
                           "process_madvise",
                           "kcmp",
                           "fanotify_init",
                           "syslog",
                           "vhangup",
                           "clock_settime",
                           "settimeofday",
                           "clock_adjtime",
                           "adjtimex",
                           "sched_setaffinity",
                           "sched_setattr",
                           "setdomainname"}) {
    both_for_programs(fail(EPERM), call);
    expect(FilterName::kNested, fail(EPERM), call);
  }
  both_for_programs(fail(EPERM), "sethostname");
}

// T36
TEST_P(SeccompClaims, NoRingsAndNoCallsFromTheFuture) {
  for (const char* call : {"io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_secret"})
    for (FilterName name : {FilterName::kStandard, FilterName::kNested, FilterName::kNoSockets})
      expect(name, fail(ENOSYS), call);
  auto program = GetParam() == Arch::kX86_64 ? x86_64_filter(FilterName::kStandard, false)
                                             : arm64_filter(FilterName::kStandard, false);
  EXPECT_EQ(evaluate(program, call_data(GetParam(), 599)), fail(ENOSYS));
}

// T41
TEST_P(SeccompClaims, NoTerminalInjectionWhateverTheUpperBits) {
  for (uint64_t command : {0x5412ull, 0x541cull, 0x5423ull}) {  // TIOCSTI, TIOCLINUX, TIOCSETD
    for (FilterName name : {FilterName::kStandard, FilterName::kNested, FilterName::kNoSockets}) {
      expect(name, fail(EPERM), "ioctl", {0, command});
      expect(name, fail(EPERM), "ioctl", {0, command | kUnread});
      expect(name, fail(EPERM), "ioctl", {0, command | 1ull << 32, ~0ull});
    }
  }
  for (uint64_t command : {TCGETS, TIOCGWINSZ, TIOCSCTTY, TIOCSPGRP, FIONREAD, FIONBIO})
    standard(kAllow, "ioctl", {0, command});
}

// T40
TEST_P(SeccompClaims, SocketsAreUnixInternetAndRoutes) {
  standard(kAllow, "socket", {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC});
  standard(kAllow, "socket", {AF_UNIX, SOCK_SEQPACKET});
  for (uint64_t family : {AF_INET, AF_INET6}) {
    standard(kAllow, "socket", {family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP});
    standard(kAllow, "socket", {family, SOCK_DGRAM, 0});
    standard(kAllow, "socket", {family, SOCK_DGRAM, IPPROTO_ICMP});
    standard(fail(EPERM), "socket", {family, SOCK_RAW, IPPROTO_TCP});
    standard(fail(EPERM), "socket", {family, SOCK_PACKET, 0});
    standard(fail(EPERM), "socket", {family, SOCK_DCCP, 0});
    standard(fail(EPROTONOSUPPORT), "socket", {family, SOCK_STREAM, IPPROTO_SCTP});
    standard(fail(EPROTONOSUPPORT), "socket", {family, SOCK_STREAM, 262});  // MPTCP
  }
  standard(kAllow, "socket", {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE});
  for (uint64_t protocol : {NETLINK_NETFILTER, NETLINK_AUDIT, NETLINK_KOBJECT_UEVENT, NETLINK_XFRM})
    standard(fail(EPROTONOSUPPORT), "socket", {AF_NETLINK, SOCK_RAW, protocol});
  for (uint64_t family = 0; family < 64; ++family) {
    if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
      continue;
    for (FilterName name : {FilterName::kStandard, FilterName::kNested})
      expect(name, fail(EAFNOSUPPORT), "socket", {family | kUnread, SOCK_STREAM});
    standard(fail(EAFNOSUPPORT), "socketpair", {family, SOCK_STREAM});
  }
  standard(kAllow, "socketpair", {AF_UNIX, SOCK_DGRAM});
}

TEST_P(SeccompClaims, WithoutNamespacesThereAreNoSocketsButPairsThatStayPairs) {
  for (uint64_t family = 0; family < 64; ++family)
    expect(FilterName::kNoSockets, fail(EACCES), "socket", {family, SOCK_STREAM});
  for (const char* call : {"connect", "bind", "listen", "accept", "accept4"})
    expect(FilterName::kNoSockets, fail(EACCES), call);
  expect(FilterName::kNoSockets, kAllow, "socketpair", {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC});
  expect(FilterName::kNoSockets, kAllow, "socketpair", {AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK});
  for (uint64_t type : {SOCK_DGRAM, SOCK_RAW})
    expect(FilterName::kNoSockets, fail(EACCES), "socketpair", {AF_UNIX, type | SOCK_CLOEXEC});
}

// T44
TEST_P(SeccompClaims, WithoutNamespacesTheHostsIpcAndLimitsAreOutOfReach) {
  for (const char* call : {"shmget", "shmat", "shmctl", "semget", "msgget", "mq_open"}) {
    expect(FilterName::kNoSockets, fail(ENOSYS), call);
    standard(kAllow, call);
  }
  expect(FilterName::kNoSockets, kAllow, "prlimit64", {kUnread});
  expect(FilterName::kNoSockets, fail(EPERM), "prlimit64", {1});
  standard(kAllow, "prlimit64", {1});
}

// T63
TEST_P(SeccompClaims, NoLimitsOfOthersAndNothingThatIsCountedForTheWholeMachine) {
  standard(kAllow, "prlimit64", {0, 7 /* files */, kUnread});
  standard(fail(EPERM), "prlimit64", {1, 7 /* files */, kUnread});
  for (const char* call : {"io_setup", "io_submit", "io_getevents"}) standard(fail(ENOSYS), call);
}

TEST_P(SeccompClaims, NoDeviceNodes) {
  for (uint64_t kind : {S_IFCHR, S_IFBLK}) {
    both_for_programs(fail(EPERM), "mknod", {0, kind | 0600});
    both_for_programs(fail(EPERM), "mknodat", {0, 0, kind | 0600 | 0xffff0000});
  }
  for (uint64_t kind : {0, S_IFREG, S_IFIFO, S_IFSOCK}) {
    standard(kAllow, "mknod", {0, kind | 0644});
    standard(kAllow, "mknodat", {0, 0, kind | 0644});
  }
}

TEST_P(SeccompClaims, NoFileBecomesSetuid) {
  for (uint64_t bit : {S_ISUID, S_ISGID}) {
    both_for_programs(fail(EPERM), "chmod", {0, bit | 0755});
    both_for_programs(fail(EPERM), "fchmod", {0, bit | kUnread});
    both_for_programs(fail(EPERM), "fchmodat", {0, 0, bit | 0755});
  }
  standard(kAllow, "chmod", {0, 01777});
  standard(kAllow, "fchmod", {04755, 0755});
  standard(kAllow, "fchmodat", {04755, 04755, 0644});
  auto program = GetParam() == Arch::kX86_64 ? x86_64_filter(FilterName::kStandard, false)
                                             : arm64_filter(FilterName::kStandard, false);
  EXPECT_EQ(evaluate(program, call_data(GetParam(), 452, {0, 0, 04755})), fail(EPERM))
      << "fchmodat2";
  EXPECT_EQ(evaluate(program, call_data(GetParam(), 452, {0, 0, 0755})), kAllow) << "fchmodat2";
}

TEST_P(SeccompClaims, OnlyHarmlessPersonalitiesAndPolicies) {
  for (uint64_t harmless : {0u, 0xffffffffu, 0x40000u})  // 0x40000 is ADDR_NO_RANDOMIZE
    standard(kAllow, "personality", {harmless});
  // READ_IMPLIES_EXEC, ADDR_COMPAT_LAYOUT, PER_LINUX32, PER_SVR4
  for (uint64_t other : {0x400000u, 0x200000u, 0x8u, 0x4100001u})
    standard(fail(EPERM), "personality", {other});
  for (uint64_t policy : {SCHED_NORMAL, SCHED_BATCH, SCHED_IDLE, SCHED_RESET_ON_FORK})
    standard(kAllow, "sched_setscheduler", {0, policy});
  for (uint64_t policy : {SCHED_FIFO, SCHED_RR, SCHED_DEADLINE, SCHED_FIFO | SCHED_RESET_ON_FORK})
    standard(fail(EPERM), "sched_setscheduler", {0, policy | kUnread});
  standard(fail(EPERM), "prctl", {PR_SET_MM});
  standard(kAllow, "prctl", {PR_SET_NAME});
  standard(kAllow, "prctl", {PR_SET_NO_NEW_PRIVS, 1});
}

TEST_P(SeccompClaims, ANestedCellGetsAnEmptyKeyringAndNothingElseOfKeys) {
  expect(FilterName::kNested, kAllow, "keyctl", {KEYCTL_JOIN_SESSION_KEYRING, 0});
  expect(FilterName::kNested, fail(EPERM), "keyctl", {KEYCTL_JOIN_SESSION_KEYRING, 0x1000});
  expect(FilterName::kNested, fail(EPERM), "keyctl", {KEYCTL_JOIN_SESSION_KEYRING, 1ull << 32});
  expect(FilterName::kNested, fail(EPERM), "keyctl", {KEYCTL_READ, 0});
}

TEST_P(SeccompClaims, RemovalsAskWhereSomethingMayBeLost) {
  constexpr uint64_t kRemoveFolder = 0x200;
  for (FilterName name : {FilterName::kNamesAndRemovals, FilterName::kNamesAndReads}) {
    expect(name, kAsk, "unlink");
    expect(name, kAsk, "unlinkat", {0, 0, 0});
  }
  expect(FilterName::kNames, kAllow, "unlink");
  expect(FilterName::kNames, kAllow, "unlinkat", {0, 0, 0});
  for (FilterName name :
       {FilterName::kNames, FilterName::kNamesAndRemovals, FilterName::kNamesAndReads}) {
    expect(name, kAsk, "unlinkat", {0, 0, kRemoveFolder});
    expect(name, kAsk, "rmdir");
    // T43: a message of theirs can carry the address of any socket.
    for (int type : {int{SOCK_DGRAM}, int{SOCK_RAW}, SOCK_DGRAM | SOCK_CLOEXEC}) {
      expect(name, kAsk, "socket", {AF_UNIX, static_cast<uint64_t>(type)});
      expect(name, kAsk, "socketpair", {AF_UNIX, static_cast<uint64_t>(type)});
    }
    expect(name, kAllow, "socketpair", {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC});
    expect(name, kAllow, "socket", {AF_UNIX, SOCK_SEQPACKET});
    expect(name, fail(EAFNOSUPPORT), "socketpair", {AF_INET, SOCK_STREAM});
  }
}

// T39: with the one who answers dead, the kernel would let a cell answer its own questions.
TEST_P(SeccompClaims, NobodyElseIsAskedInPlaceOfTheOneWhoAnswers) {
  constexpr uint64_t kListener = SECCOMP_FILTER_FLAG_NEW_LISTENER;
  auto expect_one_listener = [&](FilterName name, bool notify_exec) {
    for (uint64_t flags : {kListener, kListener | SECCOMP_FILTER_FLAG_TSYNC, kListener | kUnread})
      EXPECT_EQ(ask(name, "seccomp", {SECCOMP_SET_MODE_FILTER, flags}, notify_exec), fail(EBUSY))
          << "filter " << static_cast<int>(name);
    for (uint64_t flags : {uint64_t{0}, uint64_t{SECCOMP_FILTER_FLAG_TSYNC}})
      EXPECT_EQ(ask(name, "seccomp", {SECCOMP_SET_MODE_FILTER, flags}, notify_exec), kAllow);
  };
  for (FilterName name :
       {FilterName::kNames, FilterName::kNamesAndRemovals, FilterName::kNamesAndReads})
    for (bool notify_exec : {false, true}) expect_one_listener(name, notify_exec);
  for (FilterName name : {FilterName::kStandard, FilterName::kNested, FilterName::kNoSockets}) {
    expect_one_listener(name, true);
    // Where nobody is asked, a listener is the program's own affair.
    expect(name, kAllow, "seccomp", {SECCOMP_SET_MODE_FILTER, kListener});
  }
}

TEST_P(SeccompClaims, AServerHasItsFilesAndNoWayToAnythingElse) {
  for (const char* call : {"execve",         "execveat",
                           "clone",          "clone3",
                           "fork",           "vfork",
                           "unshare",        "setns",
                           "mount",          "pivot_root",
                           "open_tree",      "move_mount",
                           "ptrace",         "process_vm_readv",
                           "pidfd_getfd",    "kill",
                           "tgkill",         "symlink",
                           "symlinkat",      "link",
                           "linkat",         "mknod",
                           "mknodat",        "chmod",
                           "fchmodat",       "chown",
                           "connect",        "bind",
                           "accept4",        "bpf",
                           "io_uring_setup", "keyctl",
                           "userfaultfd",    "open_by_handle_at",
                           "openat2",        "seccomp",
                           "prctl",          "prlimit64",
                           "chdir",          "chroot"})
    expect(FilterName::kServer, fail(EPERM), call);
  for (uint64_t family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK})
    expect(FilterName::kServer, fail(EPERM), "socket", {family, SOCK_STREAM, 0});
  expect(FilterName::kServer, kAllow, "socketpair", {AF_UNIX, SOCK_STREAM, 0});
  // A datagram socket of a pair can be sent to any other address later on.
  expect(FilterName::kServer, fail(EPERM), "socketpair", {AF_UNIX, SOCK_DGRAM, 0});
  expect(FilterName::kServer, fail(EPERM), "mmap", {0, 4096, 4 /* PROT_EXEC */});
  for (const char* call : {"openat", "mkdirat", "renameat2", "unlinkat", "flock", "memfd_create"})
    expect(FilterName::kServer, kAllow, call);
}

TEST_P(SeccompClaims, AServerThatListensAcceptsAndHasNothingElseMore) {
  expect(FilterName::kHttpServer, kAllow, "accept4");
  for (const char* call : {"execve", "clone3", "fork", "unshare", "mount", "ptrace", "kill",
                           "symlinkat", "linkat", "connect", "bind", "listen", "openat2", "prctl"})
    expect(FilterName::kHttpServer, fail(EPERM), call);
  for (uint64_t family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK})
    expect(FilterName::kHttpServer, fail(EPERM), "socket", {family, SOCK_STREAM, 0});
}

TEST_P(SeccompClaims, InitHasItsFewCallsAndDiesOnAnyOther) {
  for (const char* call : {"wait4", "waitid", "rt_sigtimedwait", "rt_sigprocmask", "rt_sigreturn",
                           "kill", "write", "read", "close", "exit", "exit_group", "getpid",
                           "restart_syscall", "clock_nanosleep", "ppoll", "madvise"})
    expect(FilterName::kInit, kAllow, call);
  for (const char* call : {"openat", "execve", "clone", "clone3", "mmap", "mprotect", "socket",
                           "prctl", "ptrace", "ioctl", "setns"})
    expect(FilterName::kInit, kKill, call);
}

}  // namespace
}  // namespace caisson

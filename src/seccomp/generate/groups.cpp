#include "seccomp/generate/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "seccomp/generate/rules.h"

namespace caisson {

namespace {

std::vector<Group> allowed_groups() {
  return {
      {"reading and writing", always(kAllow),
       "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close "
       "close_range dup dup2 dup3 flock fsync fdatasync sync syncfs sync_file_range "
       "readahead fadvise64 fallocate ftruncate truncate sendfile splice tee copy_file_range "
       "pipe pipe2"},
      {"files and folders", always(kAllow),
       "stat fstat lstat newfstatat statx statfs fstatfs access "
       "faccessat faccessat2 getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir link "
       "linkat symlink symlinkat readlink readlinkat unlink unlinkat rename renameat renameat2 "
       "umask utime utimes utimensat futimesat chown fchown lchown fchownat"},
      {"opening (path, flags, mode)", open_rule(1), "open"},
      {"opening (folder, path, flags, mode)", open_rule(2), "openat"},
      // Its mode lies behind a pointer. Libraries that use it fall back to openat.
      {"opening (by a struct)", always(fail(ENOSYS)), "openat2"},
      {"permissions (path, mode)", chmod_rule(1), "chmod fchmod creat"},
      {"permissions (folder, path, mode)", chmod_rule(2), "fchmodat fchmodat2"},
      {"special files (path, mode)", mknod_rule(1), "mknod"},
      {"special files (folder, path, mode)", mknod_rule(2), "mknodat"},
      {"extended attributes", always(kAllow),
       "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr "
       "fremovexattr getxattrat listxattrat removexattrat"},
      {"new attributes", attribute_rule(), "setxattr lsetxattr fsetxattr"},
      // Its size lies behind a pointer.
      {"new attributes (by a struct)", always(fail(ENOSYS)), "setxattrat"},
      {"requests to files and devices", ioctl_rule(), "ioctl"},
      {"requests to descriptors", fcntl_rule(), "fcntl"},

      {"memory", always(kAllow),
       "brk munmap mremap mprotect madvise mincore msync mlock mlock2 munlock mlockall "
       "munlockall remap_file_pages pkey_mprotect pkey_alloc pkey_free map_shadow_stack mseal"},
      {"new mappings", mmap_rule(), "mmap"},
      {"memory with a descriptor", memfd_rule(), "memfd_create"},

      {"processes", always(kAllow),
       "fork vfork execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgid "
       "setpgid getpgrp getsid setsid set_tid_address pidfd_open getrusage times getcpu "
       "restart_syscall"},
      // The flags of clone are read as 32 bits; those of clone3 lie behind a pointer, which a
      // filter can't follow. glibc, musl, Go and Rust take ENOSYS and use clone (T31).
      {"new processes", allow_unless(has_any_bit(0, kNewNamespaces), fail(EPERM)), "clone unshare"},
      {"new processes by structure", always(fail(ENOSYS)), "clone3"},
      {"identity", always(kAllow),
       "getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid "
       "setregid setresuid setresgid setfsuid setfsgid setgroups capget capset"},
      {"limits and priorities", always(kAllow),
       "getrlimit getpriority setpriority ioprio_get ioprio_set sched_yield "
       "sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_setparam "
       "sched_get_priority_max sched_get_priority_min sched_rr_get_interval"},
      {"limits (resource, new)", allow_unless(is_one_of(0, {RLIMIT_CORE}), fail(EINVAL)),
       "setrlimit"},
      {"limits (process, resource, new)", limit_rule(), "prlimit64"},
      {"scheduling policy", scheduler_rule(), "sched_setscheduler"},
      {"threads and locks", always(kAllow),
       "futex futex_waitv futex_wake futex_wait futex_requeue get_robust_list set_robust_list "
       "rseq membarrier arch_prctl"},
      // PR_SET_MM moves what /proc shows of a process (command line, environment, binary).
      {"process settings", allow_unless(is_one_of(0, {PR_SET_MM}), fail(EPERM)), "prctl"},
      {"execution domain", personality_rule(), "personality"},
      // A program may always shut itself in further.
      {"own sandboxes", always(kAllow),
       "seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self"},
      // The kernel's own trampolines call these when somebody on the host traces a library that the
      // cell uses; refusing them kills the program. Called from anywhere else they do nothing.
      {"tracing by the host", always(kAllow), "uretprobe uprobe"},

      {"signals", always(kAllow),
       "kill tkill tgkill pause rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo "
       "rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sigaltstack signalfd "
       "signalfd4 pidfd_send_signal"},
      {"time", always(kAllow),
       "time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm getitimer "
       "setitimer timer_create timer_delete timer_getoverrun timer_gettime timer_settime "
       "timerfd_create timerfd_gettime timerfd_settime"},
      {"waiting for events", always(kAllow),
       "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait "
       "epoll_pwait2 eventfd eventfd2 inotify_init inotify_init1 inotify_add_watch "
       "inotify_rm_watch"},
      // Linux AIO (io_setup) is not here: its contexts are counted for the whole machine
      // (fs.aio-max-nr), and one cell could take them all. Who uses it can do without.
      {"SysV and POSIX IPC", always(kAllow),
       "shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open "
       "mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"},
      {"new shared memory", shmget_rule(), "shmget"},
      {"system facts", always(kAllow), "uname sysinfo getrandom"},

      {"new sockets", socket_rule(), "socket"},
      {"socket pairs", allow_if({is_one_of(0, {AF_UNIX})}, fail(EAFNOSUPPORT)), "socketpair"},
      {"addresses of sockets", always(kAllow), "connect bind listen accept accept4"},
      {"talk through sockets", always(kAllow),
       "sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown getsockname getpeername "
       "getsockopt"},
      {"options of sockets", socket_option_rule(), "setsockopt"},
  };
}

// EPERM says "you may not", which programs report; ENOSYS says "there is no such thing", for which
// libraries have another way.
std::vector<Group> refused_groups() {
  return {
      {"mounts", always(fail(EPERM)),
       "mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick "
       "mount_setattr open_tree_attr"},
      {"lists of mounts", always(fail(ENOSYS)), "statmount listmount"},
      {"other namespaces", always(fail(EPERM)), "setns"},
      {"files by handle", always(fail(EPERM)), "open_by_handle_at name_to_handle_at"},
      {"names of the machine", always(fail(EPERM)), "sethostname setdomainname"},
      {"other processes' memory and files", always(fail(EPERM)),
       "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd "
       "kcmp"},
      {"kernel interfaces with a history", always(fail(EPERM)),
       "bpf perf_event_open userfaultfd keyctl add_key request_key vmsplice fanotify_init "
       "fanotify_mark modify_ldt lookup_dcookie nfsservctl"},
      // A ring does its work without system calls, past this filter (T36). ENOSYS and not EPERM: it
      // is what a kernel without io_uring says, and libuv, MariaDB and users of liburing have
      // another way for that.
      {"io_uring", always(fail(ENOSYS)), "io_uring_setup io_uring_enter io_uring_register"},
      // What a kernel without NUMA says; libnuma and hwloc then leave it. Placement moves memory
      // between nodes of the host, and has been a source of use-after-free.
      {"memory placement", always(fail(ENOSYS)),
       "mbind set_mempolicy get_mempolicy set_mempolicy_home_node move_pages migrate_pages"},
      // What a kernel says that has it switched off: memory that a snapshot can't see.
      {"secret memory", always(fail(ENOSYS)), "memfd_secret"},
      // An affinity is how a cell is kept to its cores where there is no cpu controller (T63).
      // sched_setattr has policy and priority behind a pointer.
      {"cores and real time", always(fail(EPERM)), "sched_setaffinity sched_setattr"},
      {"the clock", always(fail(EPERM)), "clock_settime settimeofday clock_adjtime adjtimex"},
      {"the machine", always(fail(EPERM)),
       "reboot kexec_load kexec_file_load init_module finit_module delete_module create_module "
       "query_module get_kernel_syms swapon swapoff acct quotactl quotactl_fd iopl ioperm syslog "
       "vhangup"},
  };
}

}  // namespace

std::vector<Group> standard_groups() {
  std::vector<Group> groups = allowed_groups(), refused = refused_groups();
  groups.insert(groups.end(), refused.begin(), refused.end());
  return groups;
}

std::vector<Group> nested_groups() {
  return {
      // A cell in a cell resolves its mounts by it; set-id bits by this way are not refused here.
      {"opening (by a struct)", always(kAllow), "openat2"},
      {"namespaces", always(kAllow), "clone clone3 unshare setns"},
      // The old mount(2) gives nothing that the new calls don't, and other sandboxes use it.
      {"mounts", always(kAllow),
       "mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick "
       "mount_setattr open_tree_attr"},
      {"names of the machine", always(kAllow), "sethostname"},
      // A new, anonymous session keyring, and no other use of keys.
      {"a keyring of its own",
       allow_if(
           {is_one_of(0, {KEYCTL_JOIN_SESSION_KEYRING}), is_one_of(1, {0}), upper_half_is_zero(1)},
           fail(EPERM)),
       "keyctl"},
  };
}

// Without namespaces the host's own objects are within reach; Landlock doesn't cover these.
std::vector<Group> no_sockets_groups() {
  return {
      {"new sockets", always(fail(EACCES)), "socket"},
      // A datagram socket of a pair can be sent to any other address later on, so only the kinds
      // that stay connected to each other. (SOCK_RAW is a datagram socket in AF_UNIX.)
      {"socket pairs",
       allow_if({is_one_of(0, {AF_UNIX}),
                 masked_is_one_of(1, kSocketType, {SOCK_STREAM, SOCK_SEQPACKET})},
                fail(EACCES)),
       "socketpair"},
      // For sockets that were inherited.
      {"addresses of sockets", always(fail(EACCES)), "connect bind listen accept accept4"},
      // The caller's own segments and queues, X11's images among them (T44). ENOSYS is what a
      // kernel without SysV IPC says.
      {"SysV and POSIX IPC", always(fail(ENOSYS)),
       "shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl "
       "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"},
      // A limit of 0 ends a process as surely as a signal, and Landlock's signal scope doesn't see
      // it.
      {"limits of other processes", own_limit_rule(), "prlimit64"},
      // By user or by number they reach the caller's other processes, and what they do lasts.
      {"priorities", always(fail(EPERM)),
       "setpriority ioprio_set sched_setscheduler sched_setparam"},
      // Landlock does not ask who may watch a folder, and names tell.
      {"watching files", always(fail(EACCES)), "inotify_add_watch"},
      // Landlock has no say over modes, owners, times and attributes: without mounts of its own a
      // cell could change those of every file that is the caller's. Times of an open file stay
      // free.
      {"permissions", always(fail(EPERM)), "chmod fchmod fchmodat fchmodat2"},
      {"owners", always(fail(EPERM)), "chown fchown lchown fchownat"},
      {"times by name", always(fail(EPERM)), "utime utimes futimesat"},
      {"times", allow_if({is_one_of(1, {0}), upper_half_is_zero(1)}, fail(EPERM)), "utimensat"},
      {"attributes", always(fail(EPERM)),
       "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr setxattrat "
       "removexattrat"},
  };
}

// Of two filters that ask, the newer one's listener is heard, and what it lets go on goes on. The
// kernel refuses a second listener only while the first is open: a cell that has ended the one who
// answers would answer itself (T39). EBUSY is the kernel's own word for it.
static Group further_filters() {
  return {"further filters",
          allow_unless(has_any_bit(1, SECCOMP_FILTER_FLAG_NEW_LISTENER), fail(EBUSY)), "seccomp"};
}

std::vector<Group> notify_exec_groups() {
  return {{"programs", always(kAsk), "execve execveat"}, further_filters()};
}

// "Ask" where the standard filter says yes.
static Rule asking(Rule rule) {
  for (Case& one : rule.cases)
    if (one.then == kAllow) one.then = kAsk;
  if (rule.otherwise == kAllow) rule.otherwise = kAsk;
  return rule;
}

// What an opening is for stands in its flags, outside of memory: one that only reads goes on.
static Rule asking_open_rule(unsigned flags_argument, bool and_reads) {
  constexpr uint32_t kTmpfileBit = 020000000;
  Rule rule = open_rule(flags_argument);
  rule.cases.push_back({{has_any_bit(flags_argument, O_PATH)}, kAllow});
  rule.cases.push_back(
      {{has_any_bit(flags_argument, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | kTmpfileBit)}, kAsk});
  rule.otherwise = and_reads ? kAsk : kAllow;
  return rule;
}

std::vector<Group> names_groups(Asking which) {
  bool and_reads = which == Asking::kNamesAndReads;
  Verdict removing = which == Asking::kNames ? kAllow : kAsk;
  constexpr uint32_t kRemoveFolder = 0x200;  // AT_REMOVEDIR
  ArgumentTest stays_connected = masked_is_one_of(1, kSocketType, {SOCK_STREAM, SOCK_SEQPACKET});
  Rule sockets = socket_rule();
  sockets.cases.front().tests.push_back(stays_connected);
  sockets.cases.insert(sockets.cases.begin() + 1, {{is_one_of(0, {AF_UNIX})}, kAsk});
  return {
      {"opening (path, flags, mode)", asking_open_rule(1, and_reads), "open"},
      {"opening (folder, path, flags, mode)", asking_open_rule(2, and_reads), "openat"},
      {"new files (path, mode)", asking(chmod_rule(1)), "creat"},
      {"special files (path, mode)", asking(mknod_rule(1)), "mknod"},
      {"special files (folder, path, mode)", asking(mknod_rule(2)), "mknodat"},
      {"names", always(kAsk),
       "mkdir mkdirat link linkat symlink symlinkat rename renameat renameat2 rmdir truncate"},
      {"removal", {{{{has_any_bit(2, kRemoveFolder)}, kAsk}}, removing}, "unlinkat"},
      {"removal of a file", always(removing), "unlink"},
      // Its answer depends on nothing; the warden has to know that there is another one.
      {"the mask of new files", always(kAsk), "umask"},
      // A socket file of the host is within sight there. Datagrams carry an address with each, so
      // that kind of socket could not be judged once and for all.
      {"new sockets", sockets, "socket"},
      {"socket pairs",
       {{{{is_one_of(0, {AF_UNIX}), stays_connected}, kAllow}, {{is_one_of(0, {AF_UNIX})}, kAsk}},
        fail(EAFNOSUPPORT)},
       "socketpair"},
      {"ways to a socket", always(kAsk), "connect"},
      {"names of sockets", always(kAsk), "bind"},
      further_filters(),
  };
}

Verdict unlisted_verdict(FilterName filter) {
  // A call that is newer than this table is one that libraries know how to do without. Init is our
  // own code: a call outside its list is somebody else's.
  if (filter == FilterName::kInit || filter == FilterName::kWarden) return kKill;
  // A library that looks for a file learns that there is none for it.
  bool is_ours = filter == FilterName::kGateway || filter == FilterName::kServer ||
                 filter == FilterName::kHttpServer;
  return fail(is_ours ? EPERM : ENOSYS);
}

std::vector<KnownNumber> newer_calls(Arch arch) {
  std::vector<KnownNumber> calls = {
      {"fchmodat2", 452},      {"map_shadow_stack", 453},
      {"futex_wake", 454},     {"futex_wait", 455},
      {"futex_requeue", 456},  {"statmount", 457},
      {"listmount", 458},      {"mseal", 462},
      {"setxattrat", 463},     {"getxattrat", 464},
      {"listxattrat", 465},    {"removexattrat", 466},
      {"open_tree_attr", 467},
  };
  if (arch == Arch::kX86_64) {
    calls.push_back({"uretprobe", 335});
    calls.push_back({"uprobe", 336});
  }
  return calls;
}

}  // namespace caisson

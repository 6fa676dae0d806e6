#include "seccomp/generate/groups.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace caisson {

namespace {

// CLONE_NEWTIME is there for unshare; in clone(2) its bit belongs to the exit signal, where no
// valid signal has it.
constexpr uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME;
static_assert(kNewNamespaces == 0x7e020080);

constexpr uint32_t kSocketType = 0xf;  // SOCK_TYPE_MASK: the rest is SOCK_NONBLOCK and SOCK_CLOEXEC

Rule allow_if(std::vector<ArgumentTest> tests, Verdict otherwise) {
  return {{{std::move(tests), kAllow}}, otherwise};
}

Rule allow_unless(ArgumentTest test, Verdict then) { return {{{{std::move(test)}, then}}, kAllow}; }

// Sockets that a program needs and no more: AF_VSOCK, AF_PACKET, AF_ALG, AF_XDP, AF_BLUETOOTH and
// their kin are a way around the network namespace or a long list of kernel bugs (T40).
Rule socket_rule() {
  std::vector<uint32_t> inet = {AF_INET, AF_INET6};
  // Type and protocol choose the kernel's code too, and load modules: (AF_INET, SOCK_PACKET) is
  // AF_PACKET by its old name, type 6 loads DCCP, protocol 132 SCTP, 115 L2TP. MPTCP is left out:
  // Go tries it first and takes EPROTONOSUPPORT for "not here".
  ArgumentTest plain_type = masked_is_one_of(1, kSocketType, {SOCK_STREAM, SOCK_DGRAM});
  ArgumentTest plain_protocol =
      is_one_of(2, {0, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6});
  return {
      {
          {{is_one_of(0, {AF_UNIX})}, kAllow},
          {{is_one_of(0, inet), plain_type, plain_protocol}, kAllow},
          {{is_one_of(0, inet), plain_type}, fail(EPROTONOSUPPORT)},
          {{is_one_of(0, inet)}, fail(EPERM)},  // as for anybody without CAP_NET_RAW
          // Route messages that write need CAP_NET_ADMIN; getaddrinfo(3) and getifaddrs(3) read.
          {{is_one_of(0, {AF_NETLINK}), is_one_of(2, {NETLINK_ROUTE})}, kAllow},
          // What libaudit and libudev take for "this kernel has none".
          {{is_one_of(0, {AF_NETLINK})}, fail(EPROTONOSUPPORT)},
      },
      fail(EAFNOSUPPORT)};
}

// A setuid or setgid file that a cell leaves in a writable mount works on the host, where the mount
// isn't nosuid: any other user of the host could run it as the caller. Nor may a file be
// created with them: it loses them with the first write of the cell's, but not with one of root's
// (the supervisor's output into it), and setgid without execute outlives even that.
Rule chmod_rule(unsigned mode_argument) {
  return allow_unless(has_any_bit(mode_argument, S_ISUID | S_ISGID), fail(EPERM));
}

// A core_pattern that is a pipe starts a program on the host, as root, for a crash in a cell, and
// asks for no limit but one: RLIMIT_CORE of exactly 1 stops it (core(5), T23). So it stays 1.
// Asking (no new value: a null pointer) is free. EINVAL: gpg, which asks for 0, goes on after that
// and gives up after EPERM.
Rule core_limit_rule() {
  return {{{{is_one_of(2, {0}), upper_half_is_zero(2)}, kAllow},
           {{is_one_of(1, {RLIMIT_CORE})}, fail(EINVAL)}},
          kAllow};
}

// And of no other process: the kernel asks for the same ids and no more, so that code could take
// the descriptors of the keeper of its session, or of a cell's first process, away.
Rule limit_rule() {
  Rule rule = core_limit_rule();
  rule.cases.push_back({{is_one_of(0, {0})}, kAllow});
  rule.otherwise = fail(EPERM);
  return rule;
}

// The same, and nothing to be read of others.
Rule own_limit_rule() {
  Rule rule = core_limit_rule();
  for (Case& one : rule.cases)
    if (one.then == kAllow) one.tests.push_back(is_one_of(0, {0}));
  rule.cases.push_back({{is_one_of(0, {0})}, kAllow});
  rule.otherwise = fail(EPERM);
  return rule;
}

Rule mknod_rule(unsigned mode_argument) {
  return {{{{has_any_bit(mode_argument, S_ISUID | S_ISGID)}, fail(EPERM)},
           {{masked_is_one_of(mode_argument, S_IFMT, {0, S_IFREG, S_IFIFO, S_IFSOCK})}, kAllow}},
          fail(EPERM)};
}

// The mode counts only when a file may be created: by O_CREAT, or by O_TMPFILE's own bit.
Rule open_rule(unsigned flags_argument) {
  constexpr uint32_t kTmpfileBit = 020000000;
  return {{{{has_any_bit(flags_argument, O_CREAT | kTmpfileBit),
             has_any_bit(flags_argument + 1, S_ISUID | S_ISGID)},
            fail(EPERM)}},
          kAllow};
}

// No folder: a descriptor of one, which Landlock lets anybody have by O_PATH, would be a way out
// for a cell that it is handed to. What Landlock does not judge (sockets by path, modes, times,
// names) is held there by what the cell's root holds, and by nothing once it has another folder.
static Rule open_no_folder_rule(unsigned flags_argument) {
  Rule rule = open_rule(flags_argument);
  rule.cases.push_back({{has_any_bit(flags_argument, O_PATH | O_DIRECTORY)}, fail(EPERM)});
  return rule;
}

// Terminal input for the program that reads it next (T41), and line disciplines: drivers without
// hardware that any process can load onto a pty, and a steady source of kernel bugs (T40).
//
// Names that are made by no call that makes names, and copies of whole trees with what is hidden in
// them: subvolumes and snapshots of btrfs and bcachefs, reflinks of ocfs2. Those of btrfs are among
// what takes a page of words (0x5000 of letter 0x94), the rest of which manages devices; FICLONE,
// which clones one open file into another, has that letter too and stays.
constexpr uint32_t kBtrfsNames = 0x50009400, kBcachefsSubvolumes = 0x4020bc10,
                   kOcfs2Reflink = 0x40186f04;

Rule ioctl_rule() {
  return {{{{is_one_of(1, {TIOCSTI, TIOCLINUX, TIOCSETD, kOcfs2Reflink})}, fail(EPERM)},
           {{masked_is_one_of(1, 0xffffff00, {kBtrfsNames})}, fail(EPERM)},
           {{masked_is_one_of(1, 0xfffffffe, {kBcachefsSubvolumes})}, fail(EPERM)}},
          kAllow};
}

// Real time is refused by RLIMIT_RTPRIO as well (T63).
Rule scheduler_rule() {
  return allow_if({masked_is_one_of(1, ~static_cast<uint32_t>(SCHED_RESET_ON_FORK),
                                    {SCHED_NORMAL, SCHED_BATCH, SCHED_IDLE})},
                  fail(EPERM));
}

// Asking for the present one, going back to the default, and doing without address randomisation
// (debuggers, sanitizers, some Lisps). READ_IMPLIES_EXEC and other kernels' ABIs stay out.
Rule personality_rule() {
  return allow_if({is_one_of(0, {0, 0xffffffff, ADDR_NO_RANDOMIZE})}, fail(EPERM));
}

std::vector<Group> allowed_groups() {
  return {
      {"reading and writing", always(kAllow),
       "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close "
       "close_range dup dup2 dup3 fcntl flock fsync fdatasync sync syncfs sync_file_range "
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
       "setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr "
       "flistxattr removexattr lremovexattr fremovexattr setxattrat getxattrat listxattrat "
       "removexattrat"},
      {"device control", ioctl_rule(), "ioctl"},

      {"memory", always(kAllow),
       "brk mmap munmap mremap mprotect madvise mincore msync mlock mlock2 munlock mlockall "
       "munlockall remap_file_pages memfd_create pkey_mprotect pkey_alloc pkey_free "
       "map_shadow_stack mseal"},

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
       "shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl "
       "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"},
      {"system facts", always(kAllow), "uname sysinfo getrandom"},

      {"new sockets", socket_rule(), "socket"},
      {"socket pairs", allow_if({is_one_of(0, {AF_UNIX})}, fail(EAFNOSUPPORT)), "socketpair"},
      {"addresses of sockets", always(kAllow), "connect bind listen accept accept4"},
      {"talk through sockets", always(kAllow),
       "sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown getsockname getpeername "
       "getsockopt setsockopt"},
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

std::vector<Group> init_groups() {
  return {{"reaping and forwarding", always(kAllow),
           "wait4 waitid rt_sigtimedwait rt_sigprocmask rt_sigreturn kill write read close exit "
           "exit_group getpid restart_syscall clock_nanosleep ppoll"}};
}

// Our own code, but code that parses what a cell sends. No file can be opened, no process made, no
// memory made executable; sockets are of the two kinds that it dials with.
std::vector<Group> gateway_groups() {
  return {
      {"waiting", always(kAllow),
       "epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 poll ppoll eventfd2 "
       "timerfd_create timerfd_settime restart_syscall clock_nanosleep"},
      {"moving bytes", always(kAllow),
       "read write readv writev recvfrom sendto recvmsg sendmsg recvmmsg sendmmsg splice pipe2 "
       "close shutdown"},
      {"dialling",
       allow_if({is_one_of(0, {AF_INET, AF_INET6}),
                 masked_is_one_of(1, kSocketType, {SOCK_STREAM, SOCK_DGRAM})},
                fail(EPERM)),
       "socket"},
      {"addresses of sockets", always(kAllow),
       "connect accept accept4 bind getsockname getpeername getsockopt setsockopt"},
      {"flags of descriptors",
       allow_if({is_one_of(1, {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_SETPIPE_SZ, F_GETPIPE_SZ,
                               F_DUPFD_CLOEXEC})},
                fail(EPERM)),
       "fcntl"},
      {"readiness of sockets", allow_if({is_one_of(1, {FIONREAD, FIONBIO})}, fail(EPERM)), "ioctl"},
      {"its own core", allow_if({is_one_of(0, {0})}, fail(EPERM)),
       "sched_getaffinity sched_setaffinity"},
      {"plain memory", {{{{has_any_bit(2, PROT_EXEC)}, fail(EPERM)}}, kAllow}, "mmap mprotect"},
      {"memory given back", always(kAllow), "munmap mremap madvise brk"},
      {"itself", always(kAllow),
       "exit exit_group getpid gettid getcpu futex getrandom clock_gettime gettimeofday "
       "sched_yield "
       "rt_sigreturn rt_sigprocmask rt_sigaction"},
  };
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
      further_filters(),
  };
}

// Our own code, which handles what a program made up. It executes nothing and maps nothing; what it
// opens and makes, the mounts and Landlock bound as they do the program's.
std::vector<Group> warden_groups() {
  return {
      {"notifications",
       allow_if({is_one_of(1, {0xc0502100, 0xc0182101, 0x40082102, 0x40182103})}, fail(EPERM)),
       "ioctl"},
      {"whether anybody is left", always(kAllow), "ppoll"},
      {"the caller's core", always(kAllow), "getcpu sched_getaffinity sched_setaffinity"},
      {"the caller", always(kAllow),
       "process_vm_readv process_vm_writev pidfd_open pidfd_getfd capset"},
      {"files", always(kAllow),
       "openat openat2 readlinkat newfstatat statx fstatfs read close fcntl ftruncate mkdirat "
       "mknodat symlinkat linkat renameat2 umask"},
      {"removal", always(kAllow), "unlinkat getdents64"},
      {"asking for sockets, and those that it hands out",
       {{{{is_one_of(0, {AF_NETLINK}), is_one_of(2, {4})}, kAllow},
         {{is_one_of(0, {AF_UNIX})}, kAllow}},
        fail(EPERM)},
       "socket"},
      {"pairs that it hands out", allow_if({is_one_of(0, {AF_UNIX})}, fail(EPERM)), "socketpair"},
      {"sockets", always(kAllow), "connect sendto recvfrom"},
      {"threads",
       allow_if({masked_is_one_of(0, kNewNamespaces | CLONE_THREAD | CLONE_VM,
                                  {CLONE_THREAD | CLONE_VM})},
                fail(EPERM)),
       "clone"},
      {"itself", always(kAllow),
       "getpid gettid tgkill set_tid_address exit exit_group rt_sigreturn restart_syscall futex "
       "clock_gettime clock_nanosleep"},
  };
}

// Our own code, which parses what clients and cells send. Files are its state folder's alone, by
// Landlock; links and special files are none of it. New programs are its launcher's work.
std::vector<Group> server_groups() {
  return {
      {"waiting", always(kAllow),
       "epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 poll ppoll eventfd2 "
       "timerfd_create timerfd_settime restart_syscall clock_nanosleep"},
      {"moving bytes", always(kAllow),
       "read write readv writev pread64 pwrite64 recvfrom sendto recvmsg sendmsg pipe2 lseek "
       "sendfile close shutdown"},
      {"socket pairs",
       allow_if({is_one_of(0, {AF_UNIX}),
                 masked_is_one_of(1, kSocketType, {SOCK_STREAM, SOCK_SEQPACKET})},
                fail(EPERM)),
       "socketpair"},
      {"facts of sockets", always(kAllow), "getsockname getpeername getsockopt setsockopt"},
      {"flags of descriptors",
       allow_if({is_one_of(1, {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_SETPIPE_SZ, F_GETPIPE_SZ,
                               F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS})},
                fail(EPERM)),
       "fcntl"},
      {"readiness of descriptors", allow_if({is_one_of(1, {FIONREAD, FIONBIO})}, fail(EPERM)),
       "ioctl"},
      {"looking at files", always(kAllow),
       "stat fstat lstat newfstatat statx access faccessat faccessat2"},
      {"opening (path, flags, mode)", open_no_folder_rule(1), "open"},
      {"opening (folder, path, flags, mode)", open_no_folder_rule(2), "openat"},
      {"files of its own", always(kAllow),
       "mkdir mkdirat unlink unlinkat rmdir rename renameat renameat2 ftruncate flock fsync "
       "fdatasync"},
      {"times of an open file", allow_if({is_one_of(1, {0}), upper_half_is_zero(1)}, fail(EPERM)),
       "utimensat"},
      {"plain memory", {{{{has_any_bit(2, PROT_EXEC)}, fail(EPERM)}}, kAllow}, "mmap mprotect"},
      {"memory given back", always(kAllow), "munmap mremap madvise brk"},
      {"memory to hand over", always(kAllow), "memfd_create"},
      // Only a thread of its own: one that closes what a cell has sent (session/foreign_fd.h).
      {"threads",
       allow_if({masked_is_one_of(0, kNewNamespaces | CLONE_THREAD | CLONE_VM,
                                  {CLONE_THREAD | CLONE_VM})},
                fail(EPERM)),
       "clone"},
      {"itself", always(kAllow),
       "exit exit_group set_tid_address getpid gettid getuid geteuid futex getrandom clock_gettime "
       "gettimeofday "
       "sched_yield rt_sigreturn rt_sigprocmask rt_sigaction"},
  };
}

// A server that listens. It was bound to its addresses before, and can't be to others.
std::vector<Group> listener_groups() { return {{"who comes", always(kAllow), "accept4"}}; }

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

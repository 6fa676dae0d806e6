// The filters of our own processes: what each of them does, and nothing else.
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "seccomp/generate/groups.h"
#include "seccomp/generate/rules.h"

namespace caisson {

// No folder: a descriptor of one, which Landlock lets anybody have by O_PATH, would be a way out
// for a cell that it is handed to. What Landlock does not judge (sockets by path, modes, times,
// names) is held there by what the cell's root holds, and by nothing once it has another folder.
static Rule open_no_folder_rule(unsigned flags_argument) {
  Rule rule = open_rule(flags_argument);
  rule.cases.push_back({{has_any_bit(flags_argument, O_PATH | O_DIRECTORY)}, fail(EPERM)});
  return rule;
}

// Nothing that can be executed.
static Rule plain_mmap_rule() {
  Rule rule = mmap_rule();
  rule.cases.push_back({{has_any_bit(2, PROT_EXEC)}, fail(EPERM)});
  return rule;
}

std::vector<Group> init_groups() {
  return {{"reaping and forwarding", always(kAllow),
           "wait4 waitid rt_sigtimedwait rt_sigprocmask rt_sigreturn kill write read close exit "
           "exit_group getpid restart_syscall clock_nanosleep ppoll"},
          {"its own memory given back", always(kAllow), "madvise"}};
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
       "connect accept accept4 bind getsockname getpeername getsockopt"},
      {"options of sockets", socket_option_rule(), "setsockopt"},
      {"flags of descriptors",
       allow_if({is_one_of(1, {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_SETPIPE_SZ, F_GETPIPE_SZ,
                               F_DUPFD_CLOEXEC})},
                fail(EPERM)),
       "fcntl"},
      {"readiness of sockets", allow_if({is_one_of(1, {FIONREAD, FIONBIO})}, fail(EPERM)), "ioctl"},
      {"its own core", allow_if({is_one_of(0, {0})}, fail(EPERM)),
       "sched_getaffinity sched_setaffinity"},
      {"plain memory", plain_mmap_rule(), "mmap"},
      {"memory that stays plain", allow_unless(has_any_bit(2, PROT_EXEC), fail(EPERM)), "mprotect"},
      {"memory given back", always(kAllow), "munmap mremap madvise brk"},
      {"itself", always(kAllow),
       "exit exit_group getpid gettid getcpu futex getrandom clock_gettime gettimeofday "
       "sched_yield "
       "rt_sigreturn rt_sigprocmask rt_sigaction"},
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
       "openat openat2 readlinkat newfstatat statx fstatfs read close ftruncate mkdirat mknodat "
       "symlinkat linkat renameat2 umask"},
      {"flags of descriptors", fcntl_rule(), "fcntl"},
      {"removal", always(kAllow), "unlinkat getdents64"},
      {"asking for sockets, and those that it hands out",
       {{{{is_one_of(0, {AF_NETLINK}), is_one_of(2, {4})}, kAllow},
         {{is_one_of(0, {AF_UNIX})}, kAllow}},
        fail(EPERM)},
       "socket"},
      {"pairs that it hands out", allow_if({is_one_of(0, {AF_UNIX})}, fail(EPERM)), "socketpair"},
      {"sockets", always(kAllow), "connect bind sendto recvfrom"},
      {"the caller's folder, for a name of a socket", always(kAllow), "fchdir"},
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
      {"facts of sockets", always(kAllow), "getsockname getpeername getsockopt"},
      {"options of sockets", socket_option_rule(), "setsockopt"},
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
      {"plain memory", plain_mmap_rule(), "mmap"},
      {"memory that stays plain", allow_unless(has_any_bit(2, PROT_EXEC), fail(EPERM)), "mprotect"},
      {"memory given back", always(kAllow), "munmap mremap madvise brk"},
      {"memory to hand over", memfd_rule(), "memfd_create"},
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

}  // namespace caisson

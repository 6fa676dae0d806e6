#include "seccomp/generate/rules.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <iterator>

namespace caisson {

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
static Rule core_limit_rule() {
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

// By the letter of a request (bits 8 to 15), those that all files, sockets and terminals of a cell
// have: terminals and descriptors 'T', sockets 0x89, random numbers 'R', a program's own listener
// '!', namespaces 0xb7, processes 0xff.
constexpr uint32_t kLetters[] = {0x5400, 0x8900, 0x5200, 0x2100, 0xb700, 0xff00};

// Of a filesystem's own requests, a few. The others need no more than a descriptor for reading, and
// change the host from a read-only mount or for longer than the cell lives: an encryption key of
// fscrypt is the filesystem's, whoever adds or removes it; verity makes a file unchangeable for
// good; subvolumes, snapshots (btrfs, bcachefs) and reflinks (ocfs2) make names by no call that
// makes names, and copies of what is hidden. FICLONE clones one open file into another.
constexpr uint32_t kFileRequests[] = {
    FIGETBSZ,          FS_IOC_GETFLAGS,   FS_IOC_SETFLAGS, FS_IOC_GETVERSION, FS_IOC_FIEMAP,
    FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR, FICLONE,         FICLONERANGE,      FIDEDUPERANGE};

// Terminal input for the program that reads it next (T41), and line disciplines: drivers without
// hardware that any process can load onto a pty, and a steady source of kernel bugs (T40).
// ENOTTY: what a filesystem without the request says, for which programs have another way.
Rule ioctl_rule() {
  return {{{{is_one_of(1, {TIOCSTI, TIOCLINUX, TIOCSETD})}, fail(EPERM)},
           {{is_one_of(1, {std::begin(kFileRequests), std::end(kFileRequests)})}, kAllow},
           {{masked_is_one_of(1, 0xff00, {std::begin(kLetters), std::end(kLetters)})}, kAllow}},
          fail(ENOTTY)};
}

// A lease makes every open(2) of a file wait on the host, for 45 seconds (fs.lease-break-time), and
// can be had on a read-only mount by who has the owner's uid; a delegation (6.19) is one on a
// folder. F_NOTIFY is inotify by another name, which the landlock tier refuses. EINVAL: what a
// kernel says about a number that it doesn't know. So it is for numbers newer than these.
Rule fcntl_rule() {
  constexpr uint32_t kLinux = F_SETLEASE, kGetDelegation = kLinux + 15;  // F_SETDELEG is beyond
  return {{{{is_one_of(1, {F_SETLEASE, F_NOTIFY, kGetDelegation})}, fail(EINVAL)},
           {{masked_is_one_of(1, ~0x3fu, {0})}, kAllow},
           {{masked_is_one_of(1, ~0xfu, {kLinux})}, kAllow}},
          fail(EINVAL)};
}

// The kernel keeps the ACLs of a tmpfs, two for each folder, in memory that no limit counts, up to
// 64 KiB each; the name of an attribute lies behind a pointer, so the bound is one for all. A cell
// has one inode per 4 KiB of its private space (T14): with up to 991 bytes, which are 123 entries,
// an ACL is a block of 1 KiB (struct posix_acl: 28 bytes, and 8 for each), and an inode with its
// name and both still has room in its 4 KiB. Labels, origins and the notes of rsync, overlays and
// package managers are shorter. ENOSPC is what ext4 says where one doesn't fit. A size above 32
// bits is beyond the kernel's own bound.
Rule attribute_rule() {
  return {{{{has_any_bit(3, ~0x3ffu)}, fail(ENOSPC)},
           {{masked_is_one_of(3, 0x3e0, {0x3e0})}, fail(ENOSPC)}},
          kAllow};
}

// Pages of the host's hugetlb pool are none of the memory controller's: one cell could take what a
// database on the host has reserved, and more than its limit. Transparent huge pages are counted,
// and stay. The answers are those of a host without a pool, and of a kernel before 4.14.
Rule mmap_rule() { return allow_unless(has_any_bit(3, MAP_HUGETLB), fail(ENOMEM)); }
Rule memfd_rule() { return allow_unless(has_any_bit(1, MFD_HUGETLB), fail(EINVAL)); }
Rule shmget_rule() { return allow_unless(has_any_bit(2, SHM_HUGETLB), fail(ENOMEM)); }

// A socket's filter is translated to machine code, for which the whole host has so much memory
// (net.core.bpf_jit_limit): a cell that has taken it leaves none to others, new cells included.
Rule socket_option_rule() {
  return allow_unless({is_one_of(1, {SOL_SOCKET}),
                       is_one_of(2, {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF,
                                     SO_ATTACH_REUSEPORT_EBPF})},
                      fail(EPERM));
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

}  // namespace caisson

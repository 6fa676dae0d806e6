#include "seccomp/generate/rules.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

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

}  // namespace caisson

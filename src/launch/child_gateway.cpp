// The sockets that the cell's gateway listens on, made in the cell's network namespace and handed
// out: what listens is outside, what connects is inside, and there is nothing between.
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "launch/child_state.h"
#include "launch/network_messages.h"
#include "wire/handover.h"

namespace caisson {

namespace {

constexpr int kBacklog = 4096;

// The handover in the making. All descriptors go in one message.
struct Handover {
  HandoverMessage message;
  int fds[kHandoverMax] = {};
};
constinit Handover handover;  // too large for the thread's stack

long keep(uint32_t kind, long fd) {
  if (fd < 0) return fd;
  if (handover.message.count >= kHandoverMax) return -EMFILE;
  handover.fds[handover.message.count] = static_cast<int>(fd);
  handover.message.kinds[handover.message.count++] = kind;
  return 0;
}

// For what goes down to the cell; what comes up goes by the route's (network_messages.cpp).
// Accepted sockets inherit it. Where it can't be had the bytes still flow.
void prefer_plain_control(long fd) {
  sys_call(SYS_setsockopt, fd, long{IPPROTO_TCP}, 13L /* TCP_CONGESTION */, "reno", 4L);
}

// Of both families on one socket; where the kernel has no IPv6, of IPv4 alone.
long bound_socket(int type, uint16_t port) {
  int off = 0;
  uint16_t big = static_cast<uint16_t>(port << 8 | port >> 8);
  long fd = sys_call(SYS_socket, long{AF_INET6}, long{type | SOCK_CLOEXEC | SOCK_NONBLOCK}, 0L);
  long result;
  if (fd >= 0) {
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = big;
    sys_call(SYS_setsockopt, fd, long{IPPROTO_IPV6}, long{IPV6_V6ONLY}, &off, long{sizeof off});
    result = sys_call(SYS_bind, fd, &any, long{sizeof any});
  } else {
    fd = sys_call(SYS_socket, long{AF_INET}, long{type | SOCK_CLOEXEC | SOCK_NONBLOCK}, 0L);
    if (fd < 0) return fd;
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = big;
    result = sys_call(SYS_bind, fd, &any, long{sizeof any});
  }
  if (result >= 0 && type == SOCK_STREAM) {
    prefer_plain_control(fd);
    result = sys_call(SYS_listen, fd, long{kBacklog});
  }
  if (result >= 0) return fd;
  sys_call(SYS_close, fd);
  return result;
}

long make_sockets(const ChildProgram& program) {
  long result = keep(kHandoverTcpListener, bound_socket(SOCK_STREAM, kGatewayPort));
  if (result >= 0) result = keep(kHandoverDnsUdp, bound_socket(SOCK_DGRAM, kDnsPort));
  if (result >= 0) result = keep(kHandoverDnsTcpListener, bound_socket(SOCK_STREAM, kDnsPort));
  for (uint32_t i = 0; i < program.forward_count && result >= 0; ++i)
    result = keep(kHandoverForwardListener, bound_socket(SOCK_STREAM, program.forward_ports[i]));
  for (uint32_t i = 0; i < program.pool_sockets && result >= 0; ++i) {
    long fd =
        sys_call(SYS_socket, long{AF_INET}, long{SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK}, 0L);
    if (fd >= 0) prefer_plain_control(fd);
    result = keep(kHandoverPoolSocket, fd);
  }
  return result;
}

long hand_over(int gateway) {
  iovec data{&handover.message, sizeof handover.message};
  alignas(cmsghdr) static char space[CMSG_SPACE(sizeof handover.fds)];
  unsigned long size = handover.message.count * sizeof(int);
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = CMSG_SPACE(size);
  cmsghdr* part = CMSG_FIRSTHDR(&header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(size);
  int* fds = reinterpret_cast<int*>(CMSG_DATA(part));
  for (uint32_t i = 0; i < handover.message.count; ++i) fds[i] = handover.fds[i];
  long sent = sys_call(SYS_sendmsg, long{gateway}, &header, long{MSG_NOSIGNAL});
  for (uint32_t i = 0; i < handover.message.count; ++i) sys_call(SYS_close, long{fds[i]});
  sys_call(SYS_close, long{gateway});
  return sent < 0 ? sent : 0;
}

// Sends, and reads answers until `answers` messages are acknowledged or one is refused.
long tell_kernel(int protocol, const void* messages, uint32_t size, unsigned answers) {
  long fd = sys_call(SYS_socket, long{AF_NETLINK}, long{SOCK_RAW | SOCK_CLOEXEC}, long{protocol});
  if (fd < 0) return fd;
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  long result = sys_call(SYS_sendto, fd, messages, long{size}, 0L, &kernel, long{sizeof kernel});
  while (result >= 0 && answers) {
    alignas(nlmsghdr) char answer[4096];
    long got = result = sys_call(SYS_recvfrom, fd, answer, long{sizeof answer}, 0L, 0L, 0L);
    for (long at = 0; result >= 0 && at + static_cast<long>(sizeof(nlmsghdr)) <= got;) {
      auto* message = reinterpret_cast<nlmsghdr*>(answer + at);
      if (message->nlmsg_len < sizeof(nlmsghdr)) return -EBADMSG;
      if (message->nlmsg_type == NLMSG_ERROR) {
        result = reinterpret_cast<nlmsgerr*>(message + 1)->error;
        if (answers) --answers;
      }
      at += static_cast<long>(NLMSG_ALIGN(message->nlmsg_len));
    }
  }
  sys_call(SYS_close, fd);
  return result < 0 ? result : 0;
}

bool means_not_here(long error) {
  return error == -EOPNOTSUPP || error == -EPROTONOSUPPORT || error == -ENOENT ||
         error == -EAFNOSUPPORT || error == -ENOSYS;
}

// A kernel without nftables can't lead anybody anywhere: then there is no route either, so that
// what does not use the proxies fails at once, and the supervisor is told: by pid 1, in its turn. A
// word from this thread could come before the one that the ids are mapped, which is waited for.
long lead_to_gateway(ChildState& state) {
  const ChildProgram& program = *state.program;
  if (program.steering_size == 0) return 0;
  long result = tell_kernel(NETLINK_NETFILTER, program.steering, program.steering_size, 1);
  if (means_not_here(result)) {
    state.unsteered = static_cast<int>(-result);
    return 0;
  }
  if (result >= 0)
    result = tell_kernel(NETLINK_ROUTE, program.routes, program.routes_size, kRouteMessages);
  return result;
}

}  // namespace

long prepare_gateway(ChildState& state) {
  const ChildProgram& program = *state.program;
  if (program.gateway_fd < 0) return 0;
  long result = lead_to_gateway(state);
  if (result >= 0) result = make_sockets(program);
  if (result >= 0) result = hand_over(program.gateway_fd);
  return result;
}

}  // namespace caisson

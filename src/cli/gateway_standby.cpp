#include "cli/gateway_standby.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/descriptor_message.h"
#include "wire/handover.h"

namespace caisson {

Result<GatewayStandby> GatewayStandby::make() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
    return Error::system("make the gateway's sockets");
  GatewayStandby standby;
  standby.handover_.reset(fds[0]);
  standby.cell_end_.reset(fds[1]);
  standby.epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!standby.epoll_ || !standby.watch(fds[0]))
    return Error::system("watch for the cell's sockets");
  return standby;
}

bool GatewayStandby::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

bool GatewayStandby::look() {
  epoll_event events[8];
  int count = ::epoll_wait(epoll_.get(), events, 8, 0);
  bool wanted = false;
  for (int i = 0; i < count; ++i) {
    if (handover_ && events[i].data.fd == handover_.get())
      take_sockets();
    else
      wanted = true;
  }
  return wanted;
}

// A cell that failed before it had any closes its end: nobody will come, and supervise() hears why.
void GatewayStandby::take_sockets() {
  Result<CellSockets> received = receive_handover(handover_.get());
  handover_.reset();
  if (!received) return;
  sockets_ = std::move(*received);
  for (auto* list : {&sockets_.tcp, &sockets_.dns_udp, &sockets_.dns_tcp, &sockets_.forward})
    for (const UniqueFd& one : *list) watch(one.get());
}

Result<void> GatewayStandby::hand_over(int gateway, int control) {
  HandoverMessage told;
  DescriptorSpace<kHandoverMax> room;
  int fds[kHandoverMax];
  auto add = [&](const std::vector<UniqueFd>& list, uint32_t kind) {
    for (const UniqueFd& one : list) {
      if (told.count == kHandoverMax) return;
      fds[told.count] = one.get();
      told.kinds[told.count++] = kind;
    }
  };
  add(sockets_.tcp, kHandoverTcpListener);
  add(sockets_.dns_udp, kHandoverDnsUdp);
  add(sockets_.dns_tcp, kHandoverDnsTcpListener);
  add(sockets_.forward, kHandoverForwardListener);
  if (told.count == 0) return Error::plain("the cell handed no sockets over");
  iovec bytes{&told, sizeof told};
  msghdr message{.msg_iov = &bytes, .msg_iovlen = 1};
  put_descriptors(message, room.bytes, {fds, told.count});
  Result<void> handed;
  if (::sendmsg(gateway, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    handed = Error::system("hand the sockets over");
  // Closing them here would not take them out: the gateway has the same ones (epoll(7)).
  for (uint32_t i = 0; i < told.count; ++i)
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fds[i], nullptr);
  sockets_ = {};
  if (handed && !watch(control)) return Error::system("watch the gateway");
  return handed;
}

}  // namespace caisson

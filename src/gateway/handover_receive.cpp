#include "gateway/handover_receive.h"

#include <sys/socket.h>

#include "base/descriptor_message.h"
#include "gateway/handover.h"

namespace caisson {
namespace {

std::vector<UniqueFd>* place_of(CellSockets& handover, uint32_t kind) {
  switch (kind) {
    case kHandoverTcpListener:
      return &handover.tcp;
    case kHandoverDnsUdp:
      return &handover.dns_udp;
    case kHandoverDnsTcpListener:
      return &handover.dns_tcp;
    case kHandoverForwardListener:
      return &handover.forward;
    case kHandoverPoolSocket:
      return &handover.pool;
    default:
      return nullptr;
  }
}

}  // namespace

Result<CellSockets> receive_handover(int cell_fd) {
  HandoverMessage told;
  alignas(cmsghdr) char room[CMSG_SPACE(kHandoverMax * sizeof(int))];
  iovec bytes{&told, sizeof told};
  msghdr message{
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  ssize_t got;
  do {
    got = recvmsg(cell_fd, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return Error::system("receive the cell's sockets");
  if (got == 0) return Error::plain("the cell ended before it had handed its sockets over");
  std::vector<UniqueFd> descriptors = take_descriptors<UniqueFd>(message);
  bool whole = !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && told.count <= kHandoverMax &&
               static_cast<size_t>(got) >= sizeof(uint32_t) * (1 + told.count) &&
               descriptors.size() == told.count;
  if (!whole) return Error::plain("the cell's sockets and the message about them don't match");
  CellSockets handover;
  for (size_t i = 0; i < descriptors.size(); ++i) {
    std::vector<UniqueFd>* place = place_of(handover, told.kinds[i]);
    if (!place) return Error::plain("the cell handed over a socket of an unknown kind");
    place->push_back(std::move(descriptors[i]));
  }
  return handover;
}

}  // namespace caisson

#include "gateway/publish_door.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "gateway/endpoint.h"
#include "gateway/event.h"
#include "gateway/tunnel.h"

namespace caisson {
namespace {

constexpr std::chrono::seconds kPublishTime{10};
constexpr std::chrono::seconds kFarewellTime{5};
constexpr std::chrono::milliseconds kLook{20};
constexpr int kTries = 16;

bool is_closed(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_CLOSE;
}

// Dissolves the association, with a reset when the peer hasn't ended: the socket is as new.
bool dissolve(int fd) {
  sockaddr nobody{.sa_family = AF_UNSPEC};
  return ::connect(fd, &nobody, sizeof nobody) == 0;
}

Task<int> connect_in_cell(Core& core, Socket& socket, uint16_t port) {
  SocketAddress address = to_kernel({IpAddress::v4({127, 0, 0, 1}), port});
  int error = ::connect(socket.fd(), address.get(), address.size) == 0 ? 0 : errno;
  if (error != EINPROGRESS) co_return error;
  Deadline deadline(core.deadlines, &socket);
  deadline.after(kPublishTime);
  co_await socket.writable();
  socklen_t size = sizeof error;
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  co_return deadline.passed() ? ETIMEDOUT : error;
}

// Bytes that the cell hasn't taken yet would be lost by a reset: waits until it has, or a while.
Task<> wait_until_closed(Core& core, Socket& socket) {
  Clock::time_point until = Clock::now() + kFarewellTime;
  std::chrono::milliseconds look{1};
  while (!is_closed(socket.fd()) && Clock::now() < until) {
    co_await pause(core.loop, look);
    look = std::min(2 * look, kLook);
  }
}

}  // namespace

PublishPool::PublishPool(Core& core, std::vector<UniqueFd> sockets) : core_(core) {
  for (UniqueFd& socket : sockets) free_.push_back(std::move(socket));
}

// All may be in use: then the next that is given back, if it doesn't take too long.
Task<UniqueFd> PublishPool::take() {
  Clock::time_point until = Clock::now() + kPublishTime;
  while (free_.empty() && Clock::now() < until) co_await pause(core_.loop, kLook);
  UniqueFd taken;
  if (!free_.empty()) {
    taken = std::move(free_.front());
    free_.pop_front();
  }
  co_return taken;
}

Task<> PublishPool::serve(Socket socket, uint16_t cell_port) {
  PlainStream client(std::move(socket));
  // A port that is still in TIME_WAIT refuses (EADDRNOTAVAIL): the next one does it.
  for (int tries = 0; tries < kTries; ++tries) {
    UniqueFd fd = co_await take();
    if (!fd) break;
    PlainStream cell(Socket(core_.loop, std::move(fd)));
    int error = co_await connect_in_cell(core_, cell.socket(), cell_port);
    if (error == 0) {
      set_no_delay(cell.socket().fd());
      HostPort where{Host{"localhost", std::nullopt}, cell_port};
      bool whole =
          co_await run_tunnel(core_, cell, client, where, "tcp", {.for_placeholders = false});
      if (whole)
        co_await wait_until_closed(core_, cell.socket());
      else
        client.socket().reset();
    }
    give_back(cell.socket().release());
    if (error == 0) co_return;
    if (error != EADDRNOTAVAIL) break;
  }
  client.socket().reset();
}

void PublishPool::give_back(UniqueFd socket) {
  if (dissolve(socket.get())) free_.push_back(std::move(socket));
}

}  // namespace caisson

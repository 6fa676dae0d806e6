#include "gateway/accept.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/control.h"
#include "gateway/endpoint.h"
#include "gateway/event.h"

namespace caisson {
namespace {

constexpr int kBurst = 64;  // clients at a time, before others have their turn
constexpr std::chrono::milliseconds kNoDescriptors{50};

Task<> serve_counted(Core& core, const std::function<Task<>(Socket)>& serve, Socket client) {
  OpenConnection open(core.traffic);
  co_await serve(std::move(client));
}

void turn_away(Core& core, Socket client) {
  client.reset();
  core.deny({false, "connection cap", "the cell has as many connections open as it may",
             "--connections with a larger number"},
            "any host", 0, "tcp");
}

}  // namespace

Task<> accept_all(Core& core, Socket listener, std::function<Task<>(Socket)> serve) {
  for (int burst = 0;;) {
    UniqueFd fd(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      if (errno == EAGAIN) {
        if (co_await listener.readable() != 0) co_return;
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        co_await pause(core.loop, kNoDescriptors);
      } else if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) {
        co_return;
      }
      burst = 0;
      continue;
    }
    set_no_delay(fd.get());
    Socket client(core.loop, std::move(fd));
    bool full = core.traffic.open >= core.config.max_connections;
    if (full && control_enabled("gateway-cap"))
      turn_away(core, std::move(client));
    else
      spawn(core.loop, serve_counted(core, serve, std::move(client)));
    if (++burst == kBurst) {
      co_await take_turns(core.loop);
      burst = 0;
    }
  }
}

}  // namespace caisson

// --forward: a port of the host's loopback, reachable on the cell's own.
#include "gateway/doors.h"
#include "gateway/endpoint.h"
#include "gateway/tunnel.h"

namespace caisson {
namespace {
constexpr std::chrono::seconds kConnectTime{10};
}

Task<> serve_forward(Core& core, Socket socket, uint16_t port) {
  PlainStream client(std::move(socket));
  // The user named this port of the loopback; no rule speaks of it, and nothing in it is looked at.
  Endpoint to{IpAddress::v4({127, 0, 0, 1}), port};
  Connected connected = co_await connect_tcp(core.loop, core.deadlines, to, kConnectTime);
  if (!connected.socket) {
    to.address = *parse_ip("::1");
    connected = co_await connect_tcp(core.loop, core.deadlines, to, kConnectTime);
  }
  if (!connected.socket) {
    client.socket().reset();
    co_return;
  }
  PlainStream host(std::move(*connected.socket));
  HostPort where{Host{"localhost", std::nullopt}, port};
  co_await tunnel_or_reset(core, client, host, where, "tcp", {.for_placeholders = false});
}

}  // namespace caisson

// Ports of the host's loopback, reachable on the cell's own: by --forward, and by rules.
#include <array>

#include "base/control.h"
#include "gateway/dial.h"
#include "gateway/doors.h"
#include "gateway/endpoint.h"
#include "gateway/session.h"
#include "gateway/tunnel.h"

namespace caisson {
namespace {

constexpr std::chrono::seconds kForwardTime{10};

struct Choice {
  Host host;
  Verdict verdict;
};

// Whom of the loopback a connection to the cell's own is meant for: the address that it was made
// to, or else what the rules name. A program that says "localhost" tries ::1 and 127.0.0.1, and the
// rule may speak of either; what is dialled is never more than the rule says.
Choice choose(const Rules& rules, const Host& asked, uint16_t port) {
  const std::array<Host, 4> names{asked, Host{"localhost", std::nullopt}, Host::of(kLoopback4),
                                  Host::of(kLoopback6)};
  Choice first{asked, rules.connect(asked, port)};
  // Which of the two a program said can't be seen, so a denial of either counts.
  for (const Host& host : {names[0], names[1]}) {
    Verdict verdict = rules.connect(host, port);
    if (!verdict.allowed && verdict.rule != kDefaultRule) return {host, verdict};
  }
  for (const Host& host : names) {
    Verdict verdict = rules.connect(host, port);
    if (verdict.allowed) return {host, verdict};
  }
  return first;
}

}  // namespace

Task<> serve_forward(Core& core, Socket socket, uint16_t port) {
  PlainStream client(std::move(socket));
  // The user named this port of the loopback; no rule speaks of it, and nothing in it is looked at.
  Endpoint to{kLoopback4, port};
  Connected connected = co_await connect_tcp(core.loop, core.deadlines, to, kForwardTime);
  if (!connected.socket) {
    to.address = kLoopback6;
    connected = co_await connect_tcp(core.loop, core.deadlines, to, kForwardTime);
  }
  if (!connected.socket) {
    client.socket().reset();
    co_return;
  }
  PlainStream host(std::move(*connected.socket));
  HostPort where{Host{"localhost", std::nullopt}, port};
  co_await tunnel_or_reset(core, client, host, where, "tcp", {.for_placeholders = false});
}

Task<> serve_loopback(Core& core, Socket socket, uint16_t port) {
  PlainStream client(std::move(socket));
  std::optional<Endpoint> asked = local_endpoint(client.socket().fd());
  // The rules may have changed since the port was opened.
  Choice choice = choose(core.rules, Host::of(asked ? asked->address : kLoopback4), port);
  if (!control_enabled("gateway-loopback")) choice.verdict.allowed = true;
  HostPort where{choice.host, port};
  Dialed dialed{.end = DialEnd::kDenied, .verdict = choice.verdict};
  if (choice.verdict.allowed) dialed = co_await dial(core, where);
  if (dialed.end == DialEnd::kDenied) core.deny(dialed.verdict, where, "tcp");
  if (dialed.end != DialEnd::kOk) {
    client.socket().reset();
    co_return;
  }
  co_await serve_connected(core, client, std::move(dialed.stream), where);
}

}  // namespace caisson

// What the connections of one gateway share. Plain parts, wired together here and nowhere else;
// each can be had without the others in a test.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gateway/cell_ca.h"
#include "gateway/control_out.h"
#include "gateway/deadlines.h"
#include "gateway/denials.h"
#include "gateway/gateway.h"
#include "gateway/handed_sockets.h"
#include "gateway/heard.h"
#include "gateway/kept_certificates.h"
#include "gateway/pipes.h"
#include "gateway/resolver.h"
#include "gateway/secret.h"
#include "gateway/tls_rest.h"
#include "gateway/traffic.h"
#include "gateway/upstream_proxy.h"
#include "loop/task.h"
#include "rules/host_set.h"
#include "rules/rules.h"
#include "wire/fake_addresses.h"

namespace caisson {

struct Core {
  static Result<std::unique_ptr<Core>> make(GatewayConfig config);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Requests to it are judged one by one, or a secret is put into them: no opaque tunnel goes
  // there.
  bool must_look_inside(const Host& host, uint16_t port) const;
  // TLS to it is ended: for the above, or since all is.
  bool ends_tls(const Host& host, uint16_t port) const;
  // All or nothing: rules that can't be read change nothing.
  Result<void> take(const LiveRules& live);

  // Tells the supervisor. Comes before the answer that lets the cell know.
  void deny(const Verdict& verdict, const HostPort& where, std::string_view protocol);
  void deny(const Verdict& verdict, std::string host, uint16_t port, std::string_view protocol);

  GatewayConfig config;
  Rules rules;  // replaced as a whole while the cell runs: don't keep a reference over a co_await
  HostSet tls_excluded;
  std::unique_ptr<Secrets> secrets;
  std::optional<CellCa> ca;  // there from the start when TLS will be ended
  AwakeTls awake_tls;
  KeptCertificates kept_certificates;
  SslContext upstream_tls;     // made when first needed
  uint32_t ended_tunnels = 0;  // connections whose TLS is ended now
  UpstreamProxies proxies;
  HandedSockets handed;
  FakeAddresses fakes;
  Traffic traffic;
  uint64_t held_bytes = 0;     // of bodies that are taken in whole
  uint32_t large_bodies = 0;   // on their way through a filter now
  uint64_t http2_windows = 0;  // bytes that peers of HTTP/2 may send beyond the least
  Deadlines deadlines;
  Pipes pipes;
  ControlOut control;
  Denials denials;
  Heard heard;
  // Coroutines refer to everything above and are destroyed with the loop, so it goes first.
  Loop loop{1};
  Resolver resolver;

 private:
  explicit Core(GatewayConfig config);
};

}  // namespace caisson

#include "gateway/tls_session.h"

#include <algorithm>

#include "base/control.h"
#include "gateway/aws_resign.h"
#include "gateway/http2_relay.h"
#include "gateway/http_session.h"
#include "gateway/tls_stream.h"
#include "gateway/tls_upstream.h"

namespace caisson {
namespace {

// A name that differs from the one that was asked for would get a certificate, and a host, of
// another.
bool names_host(const ClientHello& hello, const Host& host) {
  if (hello.server_name.empty()) return host.is_address();
  Result<Host> name = parse_host(hello.server_name);
  return name.ok() && *name == host;
}

bool offers_http2(const ClientHello& hello) { return std::ranges::count(hello.alpn, "h2") > 0; }

struct EndedTunnel {
  explicit EndedTunnel(Core& all) : core(all) { ++core.ended_tunnels; }
  ~EndedTunnel() { --core.ended_tunnels; }
  EndedTunnel(const EndedTunnel&) = delete;
  EndedTunnel& operator=(const EndedTunnel&) = delete;
  Core& core;
};

}  // namespace

Task<> serve_tls(Core& core, Stream& client, std::unique_ptr<PlainStream> upstream,
                 const HostPort& where, const ClientHello& hello) {
  if (!names_host(hello, where.host)) {
    core.deny({false, "name mismatch", "the ClientHello names another host than was asked for", ""},
              where, "tls");
    client.socket().reset();
    co_return;
  }
  if (!core.ca) {
    core.deny({false, "request rules",
               "rules about requests came after the cell had started, and "
               "it doesn't trust an authority of ours",
               "start the cell with the rule"},
              where, "tls");
    client.socket().reset();
    co_return;
  }
  if (core.ended_tunnels >= core.config.live.max_tunnels && control_enabled("gateway-tunnels")) {
    core.deny({false, "tunnel cap", "as many connections as may be have their TLS ended here",
               "wait for others to end, or allow more of them"},
              where, "tls");
    client.socket().reset();
    co_return;
  }
  EndedTunnel counted(core);
  // The host first: the client is offered what the host speaks, so nothing is translated.
  std::unique_ptr<Stream> host = std::move(upstream);
  bool may_http2 = offers_http2(hello) && !signs_for(core, where.host, where.port);
  UpstreamTls upstream_tls =
      co_await start_upstream_tls(core, host, where, may_http2 ? HttpVersion::k2 : HttpVersion::k1);
  bool http2 = upstream_tls.why.empty() && upstream_tls.version == HttpVersion::k2;
  Result<TlsConnection> ssl = core.ca->server(
      where.host, http2 ? CellCa::Protocols::kHttp2AndHttp1 : CellCa::Protocols::kHttp1);
  if (!ssl.ok()) {
    client.socket().reset();
    co_return;
  }
  TlsStream tls(client, std::move(*ssl), TlsStream::Role::kServer, &core.awake_tls);
  {
    Deadline deadline(core.deadlines, &client.socket());
    deadline.after(std::chrono::milliseconds(core.config.live.handshake_ms));
    std::string why = co_await tls.handshake();
    if (!why.empty()) {
      client.socket().reset();
      co_return;
    }
  }
  if (http2) {
    co_await relay_http2(core, tls, *host, Scheme::kHttps, where);
    co_return;
  }
  HttpDoor door{Scheme::kHttps, where};
  HttpSession session(core, tls, std::move(door));
  // Otherwise the first request dials anew, and answers with why it failed.
  if (upstream_tls.why.empty()) session.give_upstream(std::move(host));
  co_await session.run();
}

}  // namespace caisson

#include "gateway/session.h"

#include <fmt/format.h>

#include "base/control.h"
#include "gateway/first_look.h"
#include "gateway/http2_relay.h"
#include "gateway/http_session.h"
#include "gateway/tls_session.h"
#include "gateway/tunnel.h"

namespace caisson {
namespace {

void refuse(Core& core, Stream& client, const HostPort& where, std::string_view protocol,
            std::string rule, std::string reason) {
  core.deny({false, std::move(rule), std::move(reason), ""}, where, protocol);
  client.socket().reset();
}

// Whether this ClientHello may go to the host that was asked for; "" or why not.
std::string check_hello(Core& core, const ClientHello& hello, const HostPort& where) {
  if (!control_enabled("gateway-hello")) return "";
  if (hello.has_ech) return "the name in the ClientHello is encrypted";
  if (hello.server_name.empty())
    return where.host.is_address() ? "" : "the ClientHello names no host";
  Result<Host> name = parse_host(hello.server_name);
  if (!name.ok()) return "the ClientHello names no host: " + name.error().what;
  if (is_same_place({*name, where.port}, where)) return "";
  if (!where.host.is_address())
    return fmt::format("the ClientHello names {}, the connection was made to {}", name->text(),
                       where.host.text());
  // An address was asked for and a name is told: a server may serve many, so it must be allowed
  // too.
  if (core.rules.connect(*name, where.port).allowed && !core.must_look_inside(*name, where.port))
    return "";
  return fmt::format("the ClientHello names {}, which isn't allowed", name->text());
}

Task<> serve_clear_http(Core& core, Stream& client, std::unique_ptr<PlainStream> upstream,
                        const HostPort& where) {
  HttpDoor door;
  door.asked = where;
  HttpSession session(core, client, std::move(door));
  session.give_upstream(std::move(upstream));
  co_await session.run();
}

bool refuses_opaque(const Core& core) {
  return core.config.refuse_opaque_tunnels && control_enabled("gateway-opaque");
}

struct Looked {
  Sniffed sniffed;
  FirstBytes kind = FirstBytes::kNeedMore;
  bool failed = false, has_leaked = false;
};

// By itself, so that its frame is gone while the connection is served.
Task<Looked> look_first(Core& core, Stream& client, Stream& upstream, FirstLook::HostSide host) {
  FirstLook look(core, client, upstream, host);
  co_await look.run();
  Looked looked{look.sniffed(), look.kind(), look.failed(), look.has_leaked()};
  co_return looked;
}

}  // namespace

Task<> serve_connected(Core& core, Stream& client, std::unique_ptr<PlainStream> upstream,
                       const HostPort& where) {
  bool inside = core.must_look_inside(where.host, where.port);
  bool ends = core.ends_tls(where.host, where.port);
  Looked look = co_await look_first(
      core, client, *upstream,
      inside ? FirstLook::HostSide::kWaits : FirstLook::HostSide::kMaySpeakFirst);
  if (look.failed) co_return;
  FirstBytes kind = look.kind;
  bool http = kind == FirstBytes::kHttp1 || kind == FirstBytes::kHttp2;
  if (kind == FirstBytes::kBad) {
    refuse(core, client, where, "tls", "first bytes", look.sniffed.why);
  } else if (http && look.has_leaked) {
    refuse(core, client, where, "http", "first bytes", "a request line that came too slowly");
  } else if (kind == FirstBytes::kHttp1) {
    co_await serve_clear_http(core, client, std::move(upstream), where);
  } else if (kind == FirstBytes::kHttp2) {
    co_await relay_http2(core, client, *upstream, Scheme::kHttp, where);
  } else if (kind == FirstBytes::kTls && ends && look.has_leaked) {
    refuse(core, client, where, "tls", "first bytes", "a ClientHello that came too slowly");
  } else if (kind == FirstBytes::kTls && ends) {
    co_await serve_tls(core, client, std::move(upstream), where, look.sniffed.hello);
  } else if (inside) {
    refuse(core, client, where, "tcp", "request rules",
           "requests to this host are looked at, and this is neither TLS nor HTTP");
  } else if (refuses_opaque(core)) {
    refuse(core, client, where, kind == FirstBytes::kTls ? "tls" : "tcp", "opaque tunnels",
           "only what is read on its way may pass: HTTP, and TLS that is ended");
  } else if (kind == FirstBytes::kTls) {
    std::string why = check_hello(core, look.sniffed.hello, where);
    if (!why.empty())
      refuse(core, client, where, "tls", "name mismatch", why);
    else
      co_await tunnel_or_reset(core, client, *upstream, where, "tls");
  } else {
    co_await tunnel_or_reset(core, client, *upstream, where, "tcp");
  }
}

}  // namespace caisson

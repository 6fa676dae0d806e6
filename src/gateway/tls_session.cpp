#include "gateway/tls_session.h"

#include "gateway/http_session.h"
#include "gateway/tls_stream.h"
#include "gateway/tls_upstream.h"

namespace caisson {
namespace {

constexpr std::chrono::seconds kHandshakeTime{20};

// A name that differs from the one that was asked for would get a certificate, and a host, of another.
bool names_host(const ClientHello& hello, const Host& host) {
  if (hello.server_name.empty()) return host.is_address();
  Result<Host> name = parse_host(hello.server_name);
  return name.ok() && *name == host;
}

}  // namespace

Task<> serve_tls(Core& core, Stream& client, std::unique_ptr<PlainStream> upstream, const HostPort& where,
                 const ClientHello& hello) {
  if (!names_host(hello, where.host)) {
    core.deny({false, "name mismatch", "the ClientHello names another host than was asked for", ""},
              where, "tls");
    client.socket().reset();
    co_return;
  }
  if (!core.ca) {
    core.deny({false, "request rules", "rules about requests came after the cell had started, and "
               "it doesn't trust an authority of ours", "start the cell with the rule"},
              where, "tls");
    client.socket().reset();
    co_return;
  }
  Result<TlsConnection> ssl = core.ca->server(where.host, CellCa::Protocols::kHttp1);
  if (!ssl.ok()) {
    client.socket().reset();
    co_return;
  }
  TlsStream tls(client, std::move(*ssl), TlsStream::Role::kServer);
  {
    Deadline deadline(core.deadlines, &client.socket());
    deadline.after(kHandshakeTime);
    if (!(co_await tls.handshake()).empty()) {
      client.socket().reset();
      co_return;
    }
  }
  HttpDoor door{Scheme::kHttps, where};
  HttpSession session(core, tls, std::move(door));
  std::unique_ptr<Stream> host = std::move(upstream);
  std::string why = co_await start_upstream_tls(core, host, where);
  if (why.empty()) session.give_upstream(std::move(host));
  // Otherwise the first request dials anew, and answers with why it failed.
  co_await session.run();
}

}  // namespace caisson

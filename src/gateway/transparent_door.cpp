// The one listener for TCP: a client that was redirected to it goes where it meant to go; a client
// that came on purpose speaks to a proxy.
#include <fmt/format.h>

#include <array>

#include "base/control.h"
#include "gateway/dial.h"
#include "gateway/doors.h"
#include "gateway/endpoint.h"
#include "gateway/http_session.h"
#include "gateway/session.h"
#include "gateway/ssh_refusal.h"
#include "wire/socks5.h"

namespace caisson {
namespace {

constexpr std::chrono::seconds kFirstByteTime{60}, kLastWordsTime{5};
constexpr int kMostLastReads = 16;

Task<> serve_requests(Core& core, Stream& client, HttpDoor door) {
  HttpSession session(core, client, std::move(door));
  co_await session.run();
}

Task<> serve_proxy(Core& core, Stream& client) {
  std::array<uint8_t, 1> first;
  {
    Deadline deadline(core.deadlines, &client.socket());
    deadline.after(kFirstByteTime);
    Moved got = co_await client.read(first);
    if (got.error || got.ended()) co_return;
  }
  client.unread({reinterpret_cast<const char*>(first.data()), 1});
  if (first[0] == kSocksVersion) {
    co_await serve_socks(core, client);
  } else if (first[0] == kSocks4Version) {
    co_await refuse_socks4(core, client);
  } else {
    HttpDoor door;
    co_await serve_requests(core, client, std::move(door));
  }
}

struct Meant {
  HostPort where;
  bool is_known = false;  // false: a made-up address that stands for no name
};

// Whom an address stands for: a name that was resolved here, or itself.
Meant meant_by(Core& core, const Endpoint& original) {
  HostPort as_it_is{Host::of(original.address), original.port};
  if (!FakeAddresses::is_fake(original.address)) return {as_it_is, true};
  std::optional<std::string> name = core.fakes.name_of(original.address);
  if (!name) return {as_it_is, false};
  return {{Host{*name, std::nullopt}, original.port}, true};
}

Verdict judge(const Core& core, const Meant& meant) {
  Verdict verdict;
  if (meant.is_known)
    verdict = core.rules.connect(meant.where.host, meant.where.port);
  else
    verdict = {false, std::string(kDefaultRule), "an address that no name was resolved to", ""};
  if (!control_enabled("gateway-transparent")) verdict.allowed = true;
  return verdict;
}

// A reset, but for ssh, which shows a person what a server says.
Task<> refuse_stream(Core& core, Stream& client, const Verdict& verdict, uint16_t port) {
  if (port != kSshPort || verdict.allowed) {
    client.socket().reset();
    co_return;
  }
  Deadline deadline(core.deadlines, &client.socket());
  deadline.after(kLastWordsTime);
  std::string_view why = verdict.reason.empty() ? verdict.rule : verdict.reason;
  std::string said = ssh_refusal(fmt::format("Connection blocked by network allowlist ({})", why));
  int error = co_await client.write(std::string_view(said));
  if (error == 0) error = co_await client.finish();
  // Closed with bytes unread it would be a reset after all, and the words might be lost.
  std::array<uint8_t, 1024> rest;
  for (int reads = 0; reads < kMostLastReads && error == 0; ++reads) {
    Moved got = co_await client.read(rest);
    if (got.error || got.ended()) break;
  }
}

// The connection to the host, or nothing, when the client has been turned away. By itself, so that
// its frame is gone while the connection is served.
Task<std::unique_ptr<PlainStream>> reach(Core& core, Stream& client, const Meant& meant) {
  Verdict verdict = judge(core, meant);
  Dialed dialed;
  if (verdict.allowed) {
    dialed = co_await dial(core, meant.where);
    if (dialed.end == DialEnd::kDenied) verdict = dialed.verdict;
  }
  if (!verdict.allowed) core.deny(verdict, meant.where, "tcp");
  if (!verdict.allowed || dialed.end != DialEnd::kOk) {
    co_await refuse_stream(core, client, verdict, meant.where.port);
    co_return nullptr;
  }
  co_return std::move(dialed.stream);
}

Task<> serve_transparent(Core& core, Stream& client, Endpoint original) {
  Meant meant = meant_by(core, original);
  // A proxy of the host's takes requests, not connections: each request dials it.
  if (meant.where.port == 80 && core.proxies.for_http(meant.where) && judge(core, meant).allowed) {
    HttpDoor door{Scheme::kHttp, meant.where};
    co_await serve_requests(core, client, std::move(door));
    co_return;
  }
  std::unique_ptr<PlainStream> host = co_await reach(core, client, meant);
  if (host) co_await serve_connected(core, client, std::move(host), meant.where);
}

}  // namespace

Task<> serve_tcp(Core& core, Socket socket) {
  std::optional<Endpoint> original = original_destination(socket.fd());
  PlainStream client(std::move(socket));
  if (original)
    co_await serve_transparent(core, client, *original);
  else
    co_await serve_proxy(core, client);
}

}  // namespace caisson

#include "gateway/dial.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/control.h"
#include "base/error.h"
#include "gateway/endpoint.h"

namespace caisson {
namespace {

constexpr std::chrono::seconds kConnectTime{10};
constexpr std::chrono::seconds kProxyTime{30};  // it dials in its turn

DialEnd end_of(int error) {
  if (error == ECONNREFUSED) return DialEnd::kRefused;
  if (error == ETIMEDOUT) return DialEnd::kTimedOut;
  return DialEnd::kUnreachable;
}

Task<Dialed> dial_address(Core& core, Endpoint to) {
  Dialed dialed;
  Connected connected = co_await connect_tcp(core.loop, core.deadlines, to, kConnectTime);
  if (connected.socket) {
    dialed.end = DialEnd::kOk;
    dialed.stream = std::make_unique<PlainStream>(std::move(*connected.socket));
  } else {
    dialed.end = end_of(connected.error);
    dialed.why = fmt::format("connect to {}: {}", HostPort{Host::of(to.address), to.port}.text(),
                             errno_text(connected.error));
  }
  co_return dialed;
}

// Whom the rules must be asked about: what a cell named, not what the host's own proxy is called.
enum class Judged { kYes, kNo };

// Tries the name's addresses of one family in turn. kNoName: it has none.
Task<Dialed> dial_family(Core& core, const HostPort& where, Resolver::Family family,
                         Judged judged) {
  Dialed last{.end = DialEnd::kNoName, .why = fmt::format("{} has no address", where.host.name)};
  Resolver::Addresses found = co_await core.resolver.addresses(where.host.name, family);
  if (found.code == DnsCode::kFailed) {
    last.end = DialEnd::kNoAnswer;
    last.why = fmt::format("no DNS server answered for {}", where.host.name);
  }
  for (const IpAddress& address : found.list) {
    if (judged == Judged::kYes) {
      Verdict verdict =
          core.rules.resolved(where.host, where.port, address, core.config.own_addresses);
      if (!verdict.allowed && control_enabled("gateway-resolved")) {
        if (last.end == DialEnd::kNoName) last = {.end = DialEnd::kDenied, .verdict = verdict};
        continue;
      }
    }
    last = co_await dial_address(core, Endpoint{address, where.port});
    if (last.end == DialEnd::kOk) break;
  }
  co_return last;
}

Task<Dialed> dial_name(Core& core, const HostPort& where, Judged judged) {
  Dialed first = co_await dial_family(core, where, Resolver::Family::kV4, judged);
  if (first.end == DialEnd::kOk) co_return first;
  if (first.end == DialEnd::kNoAnswer) co_return first;
  Dialed second = co_await dial_family(core, where, Resolver::Family::kV6, judged);
  bool second_tells_more = second.end == DialEnd::kOk || first.end == DialEnd::kNoName;
  co_return second_tells_more ? std::move(second) : std::move(first);
}

Task<Dialed> dial_through_proxy(Core& core, const UpstreamProxy& proxy, const HostPort& where) {
  Dialed dialed = co_await dial_proxy(core, proxy);
  if (dialed.end != DialEnd::kOk) co_return dialed;
  Deadline deadline(core.deadlines, &dialed.stream->socket());
  deadline.after(kProxyTime);
  dialed.why = co_await open_proxy_tunnel(*dialed.stream, proxy, where);
  if (!dialed.why.empty()) {
    dialed.end = deadline.passed() ? DialEnd::kTimedOut : DialEnd::kUnreachable;
    dialed.stream.reset();
  }
  co_return dialed;
}

}  // namespace

Task<Dialed> dial_proxy(Core& core, const UpstreamProxy& proxy) {
  if (proxy.kind == UpstreamProxy::Kind::kHanded) {
    Dialed dialed{.why = "the proxy's socket takes no connection"};
    UniqueFd fd = co_await core.handed.ask(core.loop);
    if (!fd) co_return dialed;
    Socket socket(core.loop, std::move(fd));
    if (!socket) co_return dialed;  // the kernel would not watch it
    dialed.end = DialEnd::kOk;
    dialed.stream = std::make_unique<PlainStream>(std::move(socket));
    co_return dialed;
  }
  const HostPort& at = proxy.address;
  if (at.host.is_address())
    co_return co_await dial_address(core, Endpoint{*at.host.address, at.port});
  co_return co_await dial_name(core, at, Judged::kNo);
}

Task<Dialed> dial(Core& core, const HostPort& where, Came came) {
  if (const UpstreamProxy* proxy = core.proxies.for_tunnel(where, came))
    co_return co_await dial_through_proxy(core, *proxy, where);
  if (where.host.is_address())
    co_return co_await dial_address(core, Endpoint{*where.host.address, where.port});
  co_return co_await dial_name(core, where, Judged::kYes);
}

}  // namespace caisson

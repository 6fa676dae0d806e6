// The proxy that the host itself has to go through (HTTPS_PROXY, HTTP_PROXY, NO_PROXY). The
// gateway's own connections use it; then the proxy resolves names, and the addresses are its
// affair.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gateway/deadlines.h"
#include "gateway/stream.h"
#include "rules/host.h"
#include "rules/host_set.h"

namespace caisson {

struct UpstreamProxy {
  enum class Kind {
    kHttp,
    kSocks,  // SOCKS5, which resolves the names
    kHanded  // HTTP, over a connection that the supervisor hands over
  };
  Kind kind = Kind::kHttp;
  HostPort address;           // of all but kHanded
  std::string authorization;  // of the header Proxy-Authorization; "" for none
};

// "http://user:password@proxy.example:3128", or without the scheme. "" is none.
Result<std::optional<UpstreamProxy>> parse_proxy_url(std::string_view url);

// NO_PROXY: names (with everything below them), ".suffix", "*.suffix", addresses, ranges, "*", each
// with a port or without; commas or blanks between.
bool no_proxy_covers(std::string_view no_proxy, const HostPort& where);

struct ProxyTexts {
  std::string http, https, no_proxy;
  uint16_t http_port = 0, socks_port = 0;  // on the host's loopback, in place of all of the above
};

enum class Came { kOtherwise, kBySocks };  // how the cell asked for the connection

class UpstreamProxies {
 public:
  static Result<UpstreamProxies> make(const ProxyTexts& texts);
  // Hosts that go through the proxy that is handed over, whatever else there is.
  void set_mitm_hosts(HostSet hosts) { mitm_hosts_ = std::move(hosts); }

  // For a tunnel by CONNECT: what isn't known to be HTTP.
  const UpstreamProxy* for_tunnel(const HostPort& where, Came came = Came::kOtherwise) const;
  // For requests in clear: most proxies allow no CONNECT to such ports, so each request is put to
  // the proxy itself.
  const UpstreamProxy* for_http(const HostPort& where) const;

 private:
  bool goes_to_mitm(const HostPort& where) const;

  UpstreamProxy mitm_{.kind = UpstreamProxy::Kind::kHanded};
  HostSet mitm_hosts_;
  std::optional<UpstreamProxy> http_, https_, socks_;
  std::string no_proxy_;
};

// Asks the proxy at the other end for a tunnel; "" or why there is none.
Task<std::string> open_proxy_tunnel(PlainStream& stream, const UpstreamProxy& proxy,
                                    const HostPort& where);

}  // namespace caisson

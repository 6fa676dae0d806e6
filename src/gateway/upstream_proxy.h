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

namespace caisson {

struct UpstreamProxy {
  HostPort address;
  std::string authorization;  // of the header Proxy-Authorization; "" for none
};

// "http://user:password@proxy.example:3128", or without the scheme. "" is none.
Result<std::optional<UpstreamProxy>> parse_proxy_url(std::string_view url);

// NO_PROXY: names (with everything below them), ".suffix", "*.suffix", addresses, ranges, "*", each
// with a port or without; commas or blanks between.
bool no_proxy_covers(std::string_view no_proxy, const HostPort& where);

class UpstreamProxies {
 public:
  static Result<UpstreamProxies> make(std::string_view http, std::string_view https,
                                      std::string no_proxy);
  // For a tunnel by CONNECT: what isn't known to be HTTP.
  const UpstreamProxy* for_tunnel(const HostPort& where) const;
  // For requests in clear: most proxies allow no CONNECT to such ports, so each request is put to
  // the proxy itself.
  const UpstreamProxy* for_http(const HostPort& where) const;

 private:
  std::optional<UpstreamProxy> http_, https_;
  std::string no_proxy_;
};

// Asks the proxy at the other end for a tunnel; "" or why there is none.
Task<std::string> open_proxy_tunnel(PlainStream& stream, const UpstreamProxy& proxy,
                                    const HostPort& where);

}  // namespace caisson

#include "gateway/upstream_proxy.h"

#include <fmt/format.h>

#include <array>

#include "base/control.h"
#include "base/text.h"
#include "gateway/http_head.h"
#include "wire/socks5.h"

namespace caisson {
namespace {

constexpr size_t kMaxAnswer = 16 * 1024;

std::string percent_decoded(std::string_view text) {
  auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) << 4 | digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Whether `name` is `suffix` or below it.
bool is_within_domain(std::string_view name, std::string_view suffix) {
  if (name == suffix) return true;
  return name.size() > suffix.size() && name.ends_with(suffix) &&
         name[name.size() - suffix.size() - 1] == '.';
}

bool entry_covers(std::string_view entry, const HostPort& where) {
  if (entry == "*") return true;
  if (where.host.is_address()) {
    if (Result<Cidr> range = parse_cidr(entry); range.ok())
      return range->contains(*where.host.address);
  }
  if (entry.starts_with("*."))
    entry.remove_prefix(2);
  else if (entry.starts_with('.'))
    entry.remove_prefix(1);
  Result<HostPort> parsed = parse_host_port(entry, where.port);
  if (!parsed.ok()) {
    Result<Host> host = parse_host(entry);
    return host.ok() && *host == where.host;
  }
  if (parsed->port != where.port) return false;
  if (parsed->host.is_address() || where.host.is_address()) return parsed->host == where.host;
  return is_within_domain(where.host.name, parsed->host.name);
}

}  // namespace

Result<std::optional<UpstreamProxy>> parse_proxy_url(std::string_view url) {
  std::string_view rest = trim(url);
  if (rest.empty()) return std::optional<UpstreamProxy>();
  if (size_t scheme = rest.find("://"); scheme != rest.npos) {
    if (!same_text(rest.substr(0, scheme), "http"))
      return Error::plain("the host's proxy is not an http:// proxy",
                          "set HTTPS_PROXY to http://HOST:PORT, or unset it");
    rest.remove_prefix(scheme + 3);
  }
  rest = rest.substr(0, rest.find('/'));
  UpstreamProxy proxy;
  if (size_t at = rest.rfind('@'); at != rest.npos) {
    proxy.authorization = "Basic " + base64(percent_decoded(rest.substr(0, at)));
    rest.remove_prefix(at + 1);
  }
  proxy.address = TRY(parse_host_port(rest, 80));
  return std::optional<UpstreamProxy>(std::move(proxy));
}

bool no_proxy_covers(std::string_view no_proxy, const HostPort& where) {
  size_t at = 0;
  while ((at = no_proxy.find_first_not_of(", \t", at)) != no_proxy.npos) {
    size_t end = std::min(no_proxy.find_first_of(", \t", at), no_proxy.size());
    if (entry_covers(no_proxy.substr(at, end - at), where)) return true;
    at = end;
  }
  return false;
}

Result<UpstreamProxies> UpstreamProxies::make(const ProxyTexts& texts) {
  using Kind = UpstreamProxy::Kind;
  constexpr IpAddress kLoopback{false, {127, 0, 0, 1}};
  UpstreamProxies proxies;
  if (texts.http_port)
    proxies.http_ = proxies.https_ =
        UpstreamProxy{Kind::kHttp, {Host::of(kLoopback), texts.http_port}, {}};
  if (texts.socks_port)
    proxies.socks_ = UpstreamProxy{Kind::kSocks, {Host::of(kLoopback), texts.socks_port}, {}};
  if (texts.http_port || texts.socks_port) return proxies;
  proxies.http_ = TRY(parse_proxy_url(texts.http));
  proxies.https_ = TRY(parse_proxy_url(texts.https));
  // To a proxy elsewhere these names mean its own machine; rules that have them mean this one.
  proxies.no_proxy_ = texts.no_proxy + ",localhost,127.0.0.0/8,::1";
  return proxies;
}

bool UpstreamProxies::goes_to_mitm(const HostPort& where) const {
  return mitm_hosts_.covers(where.host, where.port) && control_enabled("gateway-mitm");
}

const UpstreamProxy* UpstreamProxies::for_tunnel(const HostPort& where, Came came) const {
  if (goes_to_mitm(where)) return &mitm_;
  if (socks_ && (came == Came::kBySocks || !https_)) return &*socks_;
  return https_ && !no_proxy_covers(no_proxy_, where) ? &*https_ : nullptr;
}

const UpstreamProxy* UpstreamProxies::for_http(const HostPort& where) const {
  if (goes_to_mitm(where)) return &mitm_;
  return http_ && !no_proxy_covers(no_proxy_, where) ? &*http_ : nullptr;
}

namespace {

// The answers of a SOCKS5 server are read exactly: what follows them is the host's.
Task<std::string> read_exactly(PlainStream& stream, std::span<uint8_t> into) {
  for (size_t at = 0; at < into.size();) {
    Moved got = co_await stream.read(into.subspan(at));
    if (got.error || got.ended()) co_return "the host's SOCKS proxy ended the connection";
    at += got.bytes;
  }
  co_return "";
}

Task<std::string> open_socks_tunnel(PlainStream& stream, const HostPort& where) {
  std::vector<uint8_t> hello = socks_client_hello(), request = socks_client_request(where);
  if (co_await stream.write(std::span<const uint8_t>(hello)) != 0)
    co_return "the host's SOCKS proxy ended the connection";
  std::array<uint8_t, 256> answer;
  std::string why = co_await read_exactly(stream, std::span(answer).first(2));
  if (!why.empty()) co_return why;
  if (answer[0] != kSocksVersion || answer[1] != 0)
    co_return "the host's SOCKS proxy wants a password";
  if (co_await stream.write(std::span<const uint8_t>(request)) != 0)
    co_return "the host's SOCKS proxy ended the connection";
  // Version, code, a zero, the kind of the bound address and its first byte.
  why = co_await read_exactly(stream, std::span(answer).first(5));
  if (!why.empty()) co_return why;
  if (answer[0] != kSocksVersion || answer[1] != 0)
    co_return fmt::format("the host's SOCKS proxy answered with {}", answer[1]);
  std::optional<size_t> rest = socks_bound_rest(answer[3], answer[4]);
  if (!rest) co_return "the host's SOCKS proxy answered with an address of no kind";
  co_return co_await read_exactly(stream, std::span(answer).first(*rest));
}

}  // namespace

Task<std::string> open_proxy_tunnel(PlainStream& stream, const UpstreamProxy& proxy,
                                    const HostPort& where) {
  if (proxy.kind == UpstreamProxy::Kind::kSocks)
    co_return co_await open_socks_tunnel(stream, where);
  std::string target = where.text();
  std::string request = fmt::format("CONNECT {} HTTP/1.1\r\nHost: {}\r\n", target, target);
  if (!proxy.authorization.empty())
    request += fmt::format("Proxy-Authorization: {}\r\n", proxy.authorization);
  request += "\r\n";
  if (co_await stream.write(request) != 0) co_return "the host's proxy ended the connection";

  std::string answer;
  std::array<uint8_t, 2048> chunk;
  std::optional<size_t> end;
  while (!(end = find_head_end(answer))) {
    if (answer.size() > kMaxAnswer) co_return "the host's proxy answered without an end";
    Moved got = co_await stream.read(chunk);
    if (got.error || got.ended()) co_return "the host's proxy ended the connection";
    answer.append(reinterpret_cast<const char*>(chunk.data()), got.bytes);
  }
  Result<HttpHead> head = parse_response_head(std::string_view(answer).substr(0, *end));
  if (!head.ok()) co_return "the host's proxy answered with " + head.error().what;
  if (head->status / 100 != 2)
    co_return fmt::format("the host's proxy answered with {}", head->status);
  if (answer.size() > *end) stream.unread(std::string_view(answer).substr(*end));
  co_return std::string();
}

}  // namespace caisson

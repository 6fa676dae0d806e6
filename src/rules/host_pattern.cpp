#include "rules/host_pattern.h"

#include <algorithm>

#include <fmt/format.h>

namespace caisson {
namespace {

Error bad_pattern(std::string_view text, std::string_view why, std::string hint) {
  return Error::plain(fmt::format("{} is no host pattern: {}", quoted(text), why), std::move(hint));
}

// URLs and ranges are what people try first; each is told where it belongs.
Error bad_slash(std::string_view text, PatternUse use) {
  if (text.find("://") != text.npos)
    return bad_pattern(
        text, "it has a scheme",
        "write the host alone (example.com), or for some of its paths a request rule "
        "such as 'GET,HEAD https://example.com/path/*'");
  size_t slash = text.find('/');
  std::string_view front = text.substr(0, slash);
  if (front.starts_with('[') && front.ends_with(']')) front = front.substr(1, front.size() - 2);
  if (!parse_ip(front))
    return bad_pattern(text, "it has a path",
                       "paths are for request rules, such as 'GET https://example.com/path/*'");
  if (use == PatternUse::kDeny)
    return bad_pattern(text, "it is a range", "ranges to deny belong to the denied addresses");
  return bad_pattern(text, "a range can't be allowed",
                     "name the addresses one by one, such as 10.1.2.3:5432");
}

// A rule that says 010.0.0.1 was hardly meant to say 8.0.0.1.
Result<Host> parse_plain_host(std::string_view text) {
  Host host = TRY(parse_host(text));
  bool plain = !host.is_address() || parse_ip(text) || text.front() == '[';
  if (plain) return host;
  return bad_pattern(text, "it is an unusual spelling of an address",
                     fmt::format("write {} if that is what is meant", host.text()));
}

Result<HostPattern> parse_below(std::string_view text, std::string_view rest, PatternUse use) {
  Host host = TRY(parse_host(rest));
  if (host.is_address())
    return bad_pattern(text, "a wildcard never matches an address", "write the address itself");
  if (use == PatternUse::kAllow && host.name.find('.') == std::string::npos)
    return bad_pattern(text, "it is too wide", "name at least two labels, such as *.example.com");
  return HostPattern{HostPattern::Kind::kBelow, std::move(host)};
}

Result<HostPattern> parse_without_port(std::string_view text, PatternUse use) {
  if (text == "*" && use == PatternUse::kDeny)
    return HostPattern{HostPattern::Kind::kEverything, {}};
  if (text == "*")
    return bad_pattern(text, "it would allow everything",
                       "name the hosts, such as api.example.com or *.example.com");
  if (text.starts_with("*.")) return parse_below(text, text.substr(2), use);
  if (text.find('*') != text.npos)
    return bad_pattern(text, "'*' stands only for whole labels at the front",
                       "write *.example.com, or name the hosts one by one");
  Host host = TRY(parse_plain_host(text));
  // Linux takes 0.0.0.0 to its own loopback; people mean "everything" by it.
  if (use == PatternUse::kAllow && host.is_address() &&
      class_of(*host.address) == AddressClass::kThisNetwork)
    return bad_pattern(text, "it is no address that one can connect to",
                       "write 127.0.0.1 or [::1] for the host's loopback");
  auto kind = host.is_address() ? HostPattern::Kind::kAddress : HostPattern::Kind::kName;
  return HostPattern{kind, std::move(host)};
}

}  // namespace

Result<HostPattern> parse_host_pattern(std::string_view text, PatternUse use) {
  if (text.empty())
    return bad_pattern(text, "it is empty", "write a host, such as api.example.com");
  if (text.find('/') != text.npos) return bad_slash(text, use);
  size_t bracket = text.find(']');
  size_t colon = text.find(':', bracket == text.npos ? 0 : bracket);
  if (colon == text.npos) return parse_without_port(text, use);
  if (text.find(':', colon + 1) != text.npos)
    return bad_pattern(text, "it has several ':'", "write IPv6 addresses like [2001:db8::1]:443");
  std::optional<uint16_t> port = parse_port(text.substr(colon + 1));
  if (!port)
    return bad_pattern(text, "its port is none",
                       "a port is a number from 1 to 65535; leave out :port for every port");
  HostPattern pattern = TRY(parse_without_port(text.substr(0, colon), use));
  pattern.port = *port;
  return pattern;
}

bool HostPattern::matches_host(const Host& other) const {
  switch (kind) {
    case Kind::kName:
      return !other.is_address() && other.name == host.name;
    case Kind::kAddress:
      return other.address == host.address;
    case Kind::kEverything:
      return true;
    case Kind::kBelow:
      break;
  }
  std::string_view name = other.name;
  if (other.is_address() || name.size() <= host.name.size() + 1 || !name.ends_with(host.name))
    return false;
  return name[name.size() - host.name.size() - 1] == '.';  // evilgithub.com isn't below github.com
}

bool HostPattern::matches(const Host& other, uint16_t other_port) const {
  return (port == kAnyPort || port == other_port) && matches_host(other);
}

std::string HostPattern::text() const {
  std::string out = kind == Kind::kEverything ? "*" : host.text();
  if (kind == Kind::kBelow) out.insert(0, "*.");
  if (port != kAnyPort) out += fmt::format(":{}", port);
  return out;
}

}  // namespace caisson

// Host names and addresses in one canonical spelling. Everything that a cell or a rule says goes
// through here before it is compared: what two programs might read differently is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "rules/ip_address.h"

namespace caisson {

inline constexpr size_t kMaxHostName = 253;
inline constexpr size_t kMaxLabel = 63;

// A name or an address, never both. Comes from parse_host() or Host::of(); the rules rely on it.
struct Host {
  std::string name;  // lower-case ASCII, no trailing dot; empty when it is an address
  std::optional<IpAddress> address;

  static Host of(const IpAddress& address) { return {{}, canonical(address)}; }

  bool is_address() const { return address.has_value(); }
  bool operator==(const Host&) const = default;
  std::string text() const;  // as in a URL: "example.com", "10.1.2.3", "[::1]"
};

// Case is folded and one trailing dot dropped. Names are labels of 1 to 63 letters, digits, '-' and
// '_' ('-' not at the ends), 253 in all; names of other scripts only as punycode. IPv6 with or
// without brackets, without a zone. A name whose last label is a number is an IPv4 address in one
// of inet_aton's spellings (127.1, 0x7f.0.0.1, 0177.0.0.1, 2130706433) and becomes that address, or
// is refused when it is none. NUL, control bytes, spaces, '@', '/', '%' and '\' are refused.
Result<Host> parse_host(std::string_view text);

// Whether this is what parse_host() or Host::of() would have made: one of the two, in its one
// spelling.
bool is_canonical(const Host& host);

// A place of the machine's own, named as such: localhost, 127.0.0.0/8, ::1. Not an address that a
// translator would take there: that one is dialled as it stands.
bool is_loopback(const Host& host);

struct HostPort {
  Host host;
  uint16_t port = 0;

  bool operator==(const HostPort&) const = default;
  std::string text() const;  // "example.com:443", "[::1]:80"
};

// The same, or localhost, 127.0.0.1 and ::1 for one another: programs write one of them in a
// request and connect to another.
bool is_same_place(const HostPort& one, const HostPort& other);

// "host:port"; IPv6 only in brackets. Without a port the default, or an error when there is none.
Result<HostPort> parse_host_port(std::string_view text, std::optional<uint16_t> default_port);

// 1 to 65535, decimal digits without leading zeros.
std::optional<uint16_t> parse_port(std::string_view text);

// What a stranger wrote, for a message: in quotes, printable, cut to a length that a person reads.
std::string quoted(std::string_view text);

}  // namespace caisson

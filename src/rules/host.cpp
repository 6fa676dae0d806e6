#include "rules/host.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"

namespace caisson {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_' || c == '.';
}
Error bad_host(std::string_view text, std::string_view why, std::string hint = {}) {
  return Error::plain(fmt::format("{} is no host name: {}", quoted(text), why), std::move(hint));
}

// What a byte that no name may have would mean to a program that reads on.
Error bad_byte(std::string_view text, unsigned char c) {
  if (c >= 0x80)
    return bad_host(text, "it has letters outside ASCII", "write it as punycode, xn--…");
  if (c == '%')
    return bad_host(text, "it has a '%'", "names aren't escaped, addresses have no zone");
  if (c == '@') return bad_host(text, "it has a '@'", "leave out the user's name");
  if (c == '/' || c == '\\') return bad_host(text, "it has a slash", "write the host alone");
  if (c == ':')
    return bad_host(text, "it has a ':'", "IPv6 addresses are written like [2001:db8::1]");
  return bad_host(text, c <= 0x20 || c == 0x7f ? "it has a space or a control byte"
                                               : "it has a byte that no name may have");
}

// One part of an IPv4 address as inet_aton(3) and browsers read it: decimal, 0octal or 0xhex.
std::optional<uint64_t> parse_part(std::string_view part) {
  int base = 10;
  if (part.starts_with("0x")) {
    base = 16;
    part.remove_prefix(2);
  } else if (part.size() > 1 && part[0] == '0') {
    base = 8;
  }
  uint64_t value = 0;
  auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), value, base);
  if (part.empty() || failure != std::errc() || end != part.data() + part.size())
    return std::nullopt;
  return value;
}

// The URL standard's "ends in a number": such a name goes to no DNS, resolvers read it as IPv4.
bool ends_in_number(std::string_view name) {
  std::string_view last = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  if (last.starts_with("0x")) return last.find_first_not_of("0123456789abcdef", 2) == last.npos;
  return !last.empty() && std::all_of(last.begin(), last.end(), is_digit);
}

std::optional<IpAddress> parse_odd_v4(std::string_view name) {
  std::vector<std::string_view> parts = split(name, '.');
  if (parts.size() > 4) return std::nullopt;
  uint64_t address = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::optional<uint64_t> value = parse_part(parts[i]);
    // The last part fills all bytes that are left: 127.1 is 127.0.0.1.
    size_t width = i + 1 == parts.size() ? 4 - i : 1;
    if (!value || *value >> (8 * width) != 0) return std::nullopt;
    address = address << (8 * width) | *value;
  }
  auto byte = [&](int shift) { return static_cast<uint8_t>(address >> shift); };
  return IpAddress::v4({byte(24), byte(16), byte(8), byte(0)});
}

// Null when all labels are fine.
const char* label_fault(std::string_view name) {
  if (name.size() > kMaxHostName) return "it is longer than 253 bytes";
  size_t start = 0;
  while (start <= name.size()) {
    size_t end = std::min(name.find('.', start), name.size());
    std::string_view label = name.substr(start, end - start);
    if (label.empty()) return "it has an empty label";
    if (label.size() > kMaxLabel) return "it has a label longer than 63 bytes";
    if (label.front() == '-' || label.back() == '-') return "a label begins or ends with '-'";
    start = end + 1;
  }
  return nullptr;
}

Result<Host> parse_v6_host(std::string_view text, std::string_view inside) {
  if (inside.find('%') != inside.npos)
    return bad_host(text, "it has a zone", "write the address without %…");
  std::optional<IpAddress> address = parse_ip(inside);
  if (!address || inside.find(':') == inside.npos)
    return bad_host(text, "what is in brackets isn't an IPv6 address");
  return Host::of(*address);
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr size_t kShown = 80;
  std::string shown = printable(text.substr(0, kShown));
  return fmt::format("'{}{}'", shown, text.size() > kShown ? "…" : "");
}

std::string Host::text() const {
  if (!address) return name;
  return address->is_v6 ? "[" + address->text() + "]" : address->text();
}

std::string HostPort::text() const { return fmt::format("{}:{}", host.text(), port); }

Result<Host> parse_host(std::string_view text) {
  if (text.empty()) return bad_host(text, "it is empty");
  if (text.size() > kMaxHostName + 1) return bad_host(text, "it is longer than 253 bytes");
  if (text.front() == '[' && text.back() == ']' && text.size() > 2)
    return parse_v6_host(text, text.substr(1, text.size() - 2));
  if (std::count(text.begin(), text.end(), ':') >= 2)
    if (auto address = parse_ip(text)) return Host::of(*address);

  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  auto bad = std::find_if_not(name.begin(), name.end(), is_name_char);
  if (bad != name.end()) return bad_byte(text, static_cast<unsigned char>(*bad));
  if (name.ends_with('.')) name.pop_back();
  if (const char* fault = label_fault(name)) return bad_host(text, fault);
  if (!ends_in_number(name)) return Host{std::move(name), std::nullopt};
  std::optional<IpAddress> address = parse_odd_v4(name);
  if (!address)
    return bad_host(text, "it ends in a number, but is no IPv4 address",
                    "write the address as four decimal numbers");
  return Host::of(*address);
}

bool is_canonical(const Host& host) {
  if (host.address) return host.name.empty() && canonical(*host.address) == *host.address;
  return std::all_of(host.name.begin(), host.name.end(), is_name_char) &&
         label_fault(host.name) == nullptr && !ends_in_number(host.name);
}

bool is_loopback(const Host& host) {
  if (!host.is_address()) return host.name == "localhost";
  return host.address->is_v6 ? *host.address == kLoopback6 : host.address->bytes[0] == 127;
}

bool is_same_place(const HostPort& one, const HostPort& other) {
  auto is_usual = [](const Host& host) {
    return host.name == "localhost" || host.address == kLoopback4 || host.address == kLoopback6;
  };
  return one == other || (one.port == other.port && is_usual(one.host) && is_usual(other.host));
}

std::optional<uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || text[0] == '0') return std::nullopt;
  unsigned port = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failure != std::errc() || end != text.data() + text.size() || port > 65535)
    return std::nullopt;
  return static_cast<uint16_t>(port);
}

Result<HostPort> parse_host_port(std::string_view text, std::optional<uint16_t> default_port) {
  // In brackets the colons belong to the address.
  size_t bracket = text.find(']');
  size_t colon = text.find(':', bracket == text.npos ? 0 : bracket);
  if (colon == text.npos) {
    if (!default_port)
      return Error::plain(fmt::format("{} has no port", quoted(text)), "write host:port");
    return HostPort{TRY(parse_host(text)), *default_port};
  }
  if (text.find(':', colon + 1) != text.npos)
    return bad_host(text, "it has several ':'",
                    "IPv6 addresses are written like [2001:db8::1]:443");
  std::optional<uint16_t> port = parse_port(text.substr(colon + 1));
  if (!port)
    return Error::plain(fmt::format("{} has no valid port", quoted(text)),
                        "a port is a number from 1 to 65535");
  return HostPort{TRY(parse_host(text.substr(0, colon))), *port};
}

}  // namespace caisson

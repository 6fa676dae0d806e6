#include "rules/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"

namespace caisson {
namespace {

bool starts_with(const IpAddress& address, std::initializer_list<uint8_t> bytes) {
  return std::equal(bytes.begin(), bytes.end(), address.bytes.begin());
}

IpAddress v4_at(const std::array<uint8_t, 16>& bytes, size_t offset) {
  return IpAddress::v4({bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]});
}

struct Range {
  IpAddress base;
  uint8_t prefix;
  AddressClass kind;
};

constexpr Range v4_range(uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint8_t prefix,
                         AddressClass kind) {
  return {{false, {a, b, c, d}}, prefix, kind};
}

// The eight groups as they are written.
constexpr Range v6_range(std::array<uint16_t, 8> groups, uint8_t prefix, AddressClass kind) {
  Range range{{true, {}}, prefix, kind};
  for (size_t i = 0; i < 8; ++i) {
    range.base.bytes[2 * i] = groups[i] >> 8;
    range.base.bytes[2 * i + 1] = groups[i] & 0xff;
  }
  return range;
}

using enum AddressClass;

// The first that contains the address tells its class: single addresses stand before their ranges.
constexpr Range kRanges[] = {
    v4_range(169, 254, 169, 254, 32, kMetadata),  // AWS, Google, Azure, OpenStack and others
    v4_range(169, 254, 170, 2, 32, kMetadata),    // tasks of ECS
    v4_range(100, 100, 100, 200, 32, kMetadata),  // Alibaba
    v4_range(168, 63, 129, 16, 32, kMetadata),    // Azure's wire server
    v4_range(192, 0, 0, 192, 32, kMetadata),      // Oracle
    v4_range(0, 0, 0, 0, 8, kThisNetwork),
    v4_range(10, 0, 0, 0, 8, kPrivate),
    v4_range(100, 64, 0, 0, 10, kPrivate),
    v4_range(127, 0, 0, 0, 8, kLoopback),
    v4_range(169, 254, 0, 0, 16, kLinkLocal),
    v4_range(172, 16, 0, 0, 12, kPrivate),
    v4_range(192, 168, 0, 0, 16, kPrivate),
    v4_range(198, 18, 0, 0, 15, kFake),
    v4_range(224, 0, 0, 0, 4, kMulticast),
    v4_range(255, 255, 255, 255, 32, kBroadcast),
    v4_range(240, 0, 0, 0, 4, kReserved),

    v6_range({0, 0, 0, 0, 0, 0, 0, 0}, 128, kThisNetwork),
    v6_range({0, 0, 0, 0, 0, 0, 0, 1}, 128, kLoopback),
    v6_range({0x64, 0xff9b, 1}, 48, kReserved),  // NAT64 of one's own: what it embeds can't be told
    v6_range({0x2001, 0}, 32, kReserved),        // Teredo, a tunnel
    v6_range({0xfd63, 0x6169, 0x7373, 0x6f6e}, 96, kFake),
    v6_range({0xfd00, 0xec2}, 32, kMetadata),                              // AWS
    v6_range({0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254}, 128, kMetadata),        // Google
    v6_range({0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe}, 128, kMetadata),  // Oracle
    v6_range({0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42}, 128, kMetadata),         // Scaleway
    v6_range({0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1}, 128, kMetadata),
    v6_range({0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200}, 128, kMetadata),
    v6_range({0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe}, 128, kMetadata),  // OpenStack
    v6_range({0xfc00}, 7, kPrivate),
    v6_range({0xfe80}, 10, kLinkLocal),
    v6_range({0xfec0}, 10, kReserved),  // site-local, withdrawn by RFC 3879
    v6_range({0xff00}, 8, kMulticast),
};

bool same_prefix(const IpAddress& a, const IpAddress& b, unsigned prefix) {
  size_t whole = prefix / 8;
  if (a.is_v6 != b.is_v6 || !std::equal(a.bytes.begin(), a.bytes.begin() + whole, b.bytes.begin()))
    return false;
  unsigned rest = prefix % 8;
  return rest == 0 || ((a.bytes[whole] ^ b.bytes[whole]) >> (8 - rest)) == 0;
}

}  // namespace

IpAddress IpAddress::v4(std::array<uint8_t, 4> quad) {
  return {false, {quad[0], quad[1], quad[2], quad[3]}};
}

IpAddress IpAddress::v6(const std::array<uint8_t, 16>& bytes) {
  IpAddress address{true, bytes};
  auto zeros = [&](size_t count) {
    return std::all_of(bytes.begin(), bytes.begin() + count, [](uint8_t b) { return b == 0; });
  };
  if (zeros(10) && bytes[10] == 0xff && bytes[11] == 0xff) return v4_at(bytes, 12);  // mapped
  bool is_own = zeros(15) && bytes[15] <= 1;          // :: and ::1 are no IPv4 addresses
  if (zeros(12) && !is_own) return v4_at(bytes, 12);  // IPv4-compatible
  return address;
}

std::string IpAddress::text() const {
  char buffer[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes.data(), buffer, sizeof buffer);
  return buffer;
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  char buffer[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof buffer || text.find('\0') != text.npos) return std::nullopt;
  *std::copy(text.begin(), text.end(), buffer) = '\0';
  std::array<uint8_t, 4> quad;
  if (::inet_pton(AF_INET, buffer, quad.data()) == 1) return IpAddress::v4(quad);
  std::array<uint8_t, 16> bytes;
  if (::inet_pton(AF_INET6, buffer, bytes.data()) == 1) return IpAddress::v6(bytes);
  return std::nullopt;
}

IpAddress canonical(const IpAddress& address) {
  return address.is_v6 ? IpAddress::v6(address.bytes) : v4_at(address.bytes, 0);
}

std::optional<IpAddress> embedded_v4(const IpAddress& address) {
  if (!address.is_v6) return std::nullopt;
  if (starts_with(address, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}))
    return v4_at(address.bytes, 12);
  if (starts_with(address, {0x20, 0x02})) return v4_at(address.bytes, 2);
  if (starts_with(address, {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}))
    return v4_at(address.bytes, 12);
  return std::nullopt;
}

AddressClass class_of(const IpAddress& address) {
  IpAddress one = canonical(address);
  if (auto inner = embedded_v4(one)) one = *inner;
  for (const Range& range : kRanges)
    if (same_prefix(one, range.base, range.prefix)) return range.kind;
  return kGlobal;
}

std::string_view class_name(AddressClass kind) {
  switch (kind) {
    case kGlobal:
      return "a public address";
    case kPrivate:
      return "a private address";
    case kThisNetwork:
      return "an unspecified address";
    case kLoopback:
      return "a loopback address";
    case kLinkLocal:
      return "a link-local address";
    case kMetadata:
      return "a cloud metadata address";
    case kMulticast:
      return "a multicast address";
    case kBroadcast:
      return "the broadcast address";
    case kFake:
      return "an address of the gateway's own DNS";
    case kReserved:
      break;
  }
  return "a reserved address";
}

IpAddress masked(IpAddress address, unsigned prefix) {
  size_t size = address.is_v6 ? 16 : 4;
  for (size_t i = 0; i < size; ++i) {
    unsigned keep = prefix > 8 * i ? std::min<unsigned>(8, prefix - 8 * i) : 0;
    address.bytes[i] &= static_cast<uint8_t>(0xff00 >> keep);
  }
  return address;
}

bool Cidr::contains(const IpAddress& address) const { return same_prefix(base, address, prefix); }

std::string Cidr::text() const { return fmt::format("{}/{}", base.text(), prefix); }

static std::optional<unsigned> parse_prefix(std::string_view digits) {
  unsigned prefix = 0;
  auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  bool plain = digits == "0" || (!digits.empty() && digits[0] >= '1' && digits[0] <= '9');
  if (!plain || failure != std::errc() || end != digits.data() + digits.size() || prefix > 128)
    return std::nullopt;
  return prefix;
}

Result<Cidr> parse_cidr(std::string_view text) {
  size_t slash = text.find('/');
  std::optional<IpAddress> base = parse_ip(text.substr(0, slash));
  std::optional<unsigned> prefix = 0;
  if (base && slash == text.npos) return Cidr{*base, static_cast<uint8_t>(base->is_v6 ? 128 : 32)};
  if (base) prefix = parse_prefix(text.substr(slash + 1));
  // ::ffff:10.0.0.0/104 is 10.0.0.0/8; a shorter prefix would be half IPv4, half IPv6.
  if (base && prefix && !base->is_v6 && text.find(':') != text.npos)
    prefix = *prefix >= 96 ? std::optional(*prefix - 96) : std::nullopt;
  if (!base || !prefix || *prefix > (base->is_v6 ? 128u : 32u))
    return Error::plain(fmt::format("'{}' is no range of addresses", printable(text.substr(0, 80))),
                        "write one such as 10.0.0.0/8, 192.168.1.5 or fd00::/8");
  Cidr range{*base, static_cast<uint8_t>(*prefix)};
  if (Cidr whole{masked(*base, *prefix), range.prefix}; whole != range)
    return Error::plain(fmt::format("'{}' has bits behind its prefix", printable(text)),
                        fmt::format("write {}, or {} alone", whole.text(), base->text()));
  return range;
}

}  // namespace caisson

// An IP address as a value with one spelling, and what kind of place it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson {

// Make it with v4(), v6() or parse_ip(): they turn an IPv4 address in IPv6 dress (::ffff:127.0.0.1,
// ::127.0.0.1) into the IPv4 address, so that == can't be passed by in another spelling.
struct IpAddress {
  bool is_v6 = false;
  std::array<uint8_t, 16> bytes{};  // an IPv4 address in the first four, the rest zero

  static IpAddress v4(std::array<uint8_t, 4> quad);
  static IpAddress v6(const std::array<uint8_t, 16>& bytes);

  bool operator==(const IpAddress&) const = default;
  std::string text() const;  // "10.1.2.3", "2001:db8::1" (no brackets)
};

inline constexpr IpAddress kLoopback4{false, {127, 0, 0, 1}};
inline constexpr IpAddress kLoopback6{true, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

// Strict: four decimal numbers without leading zeros, or IPv6 without a zone.
std::optional<IpAddress> parse_ip(std::string_view text);

// The same address made again from its bytes by v4() or v6().
IpAddress canonical(const IpAddress& address);

// The IPv4 address that a translator or tunnel would take the packets to: NAT64 (64:ff9b::/96),
// 6to4 (2002::/16) and IPv4-translated (::ffff:0:0:0/96).
std::optional<IpAddress> embedded_v4(const IpAddress& address);

enum class AddressClass {
  kGlobal,
  kPrivate,  // 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7: where companies keep their hosts
  kThisNetwork,  // 0/8 and ::, which Linux takes to itself
  kLoopback,
  kLinkLocal,
  kMetadata,  // where clouds hand out credentials
  kMulticast,
  kBroadcast,
  kFake,      // what the gateway's own DNS answers: 198.18.0.0/15, fd63:6169:7373:6f6e::/96
  kReserved,  // 240/4, and ranges whose packets go somewhere else than they say (Teredo, …)
};

// Of the embedded IPv4 address where there is one.
AddressClass class_of(const IpAddress& address);
std::string_view class_name(AddressClass kind);  // "a loopback address"

// A range of addresses, such as 10.0.0.0/8.
struct Cidr {
  IpAddress base;
  uint8_t prefix = 0;

  bool contains(const IpAddress& address) const;  // as it stands, without a look at embedded_v4()
  bool operator==(const Cidr&) const = default;
  std::string text() const;
};
// An address alone is a range of one. Bits behind the prefix must be zero.
Result<Cidr> parse_cidr(std::string_view text);

// The address with all bits behind the prefix cleared.
IpAddress masked(IpAddress address, unsigned prefix);

struct IpAddressHash {
  size_t operator()(const IpAddress& address) const {
    std::string_view bytes{reinterpret_cast<const char*>(address.bytes.data()), 16};
    return std::hash<std::string_view>{}(bytes) ^ (address.is_v6 ? 0x9e3779b9u : 0u);
  }
};

}  // namespace caisson

// The netlink messages that make a gateway the only way out of a cell's network namespace, as bytes
// that the child only has to send.
#pragma once

#include <cstdint>
#include <span>

namespace caisson {

inline constexpr uint16_t kGatewayPort = 3128, kDnsPort = 53;

// NETLINK_NETFILTER, one batch. Every TCP connection that is not to the cell's own loopback goes to
// kGatewayPort, everything for port 53 to kDnsPort; what remains (other UDP, QUIC, ICMP) is refused
// at once. The kernel acknowledges the last message.
std::span<const uint8_t> steering_messages();

// NETLINK_ROUTE, one default route over the loopback for IPv4 and one for IPv6: without a route a
// connection fails before the rules see it. Each is acknowledged.
std::span<const uint8_t> route_messages();
inline constexpr unsigned kRouteMessages = 2;

}  // namespace caisson

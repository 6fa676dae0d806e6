// The header of a DNS message (RFC 1035 4.1.1): its size, and the flags in its third and fourth
// byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caisson {

inline constexpr size_t kDnsHeader = 12;
inline constexpr uint16_t kDnsIsAnswer = 0x8000;
inline constexpr uint16_t kDnsOpcode = 0x7800;
inline constexpr uint16_t kDnsTruncated = 0x0200;
inline constexpr uint16_t kDnsRecursionDesired = 0x0100;
inline constexpr uint16_t kDnsRecursionAvailable = 0x0080;
inline constexpr uint16_t kDnsCode = 0x000f;

}  // namespace caisson

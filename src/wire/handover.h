// What the cell's child hands to its gateway: sockets made inside the cell's network namespace, in
// ONE message of a SOCK_SEQPACKET socket, the descriptors beside it by SCM_RIGHTS in the same
// order. Read by code that runs between clone and exec: plain bytes only.
#pragma once

#include <cstdint>

namespace caisson {

enum : uint32_t {
  kHandoverTcpListener = 1,      // [::]:3128, dual stack: transparent connections and the proxies
  kHandoverDnsUdp = 2,           // 127.0.0.1:53
  kHandoverDnsTcpListener = 3,   // 127.0.0.1:53
  kHandoverForwardListener = 4,  // 127.0.0.1:PORT, one for each forwarded port, in their order
  kHandoverPoolSocket = 5,       // an unconnected TCP socket, for --publish
};

inline constexpr uint32_t kHandoverMax =
    253;  // SCM_MAX_FD: the kernel takes no more in one message

struct HandoverMessage {
  uint32_t count = 0;
  uint32_t kinds[kHandoverMax] = {};
};

}  // namespace caisson

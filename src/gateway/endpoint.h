// Addresses of the kernel's kind and ours, and sockets that go to them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>

#include "gateway/deadlines.h"
#include "gateway/socket.h"
#include "rules/host.h"

namespace caisson {

struct Endpoint {
  IpAddress address;
  uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
SocketAddress to_kernel(const Endpoint& endpoint);
std::optional<Endpoint> from_kernel(const sockaddr_storage& storage);

// What the socket itself is bound to.
std::optional<Endpoint> local_endpoint(int fd);

// Where the client meant to go, before nftables redirected it to us; nullopt when it was not
// redirected, that is, when it came to us on purpose.
std::optional<Endpoint> original_destination(int fd);

void set_no_delay(int fd);

struct Connected {
  std::optional<Socket> socket;
  int error = 0;
};
// Connects a new TCP socket, or gives the errno; ETIMEDOUT when it takes longer than `time`.
Task<Connected> connect_tcp(Loop& loop, Deadlines& deadlines, Endpoint to,
                            std::chrono::seconds time);

}  // namespace caisson

#include "gateway/endpoint.h"

#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>

namespace caisson {

SocketAddress to_kernel(const Endpoint& endpoint) {
  SocketAddress result;
  if (endpoint.address.is_v6) {
    sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = htons(endpoint.port)};
    std::memcpy(&v6.sin6_addr, endpoint.address.bytes.data(), 16);
    std::memcpy(&result.storage, &v6, sizeof v6);
    result.size = sizeof v6;
  } else {
    sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(endpoint.port)};
    std::memcpy(&v4.sin_addr, endpoint.address.bytes.data(), 4);
    std::memcpy(&result.storage, &v4, sizeof v4);
    result.size = sizeof v4;
  }
  return result;
}

std::optional<Endpoint> from_kernel(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &storage, sizeof v4);
    std::array<uint8_t, 4> quad;
    std::memcpy(quad.data(), &v4.sin_addr, 4);
    return Endpoint{IpAddress::v4(quad), ntohs(v4.sin_port)};
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &storage, sizeof v6);
    std::array<uint8_t, 16> bytes;
    std::memcpy(bytes.data(), &v6.sin6_addr, 16);
    return Endpoint{IpAddress::v6(bytes), ntohs(v6.sin6_port)};
  }
  return std::nullopt;
}

std::optional<Endpoint> local_endpoint(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  return from_kernel(storage);
}

std::optional<Endpoint> original_destination(int fd) {
  std::optional<Endpoint> local = local_endpoint(fd);
  if (!local) return std::nullopt;
  // An IPv4 client of a dual-stack listener has a mapped address, and conntrack knows it by IPv4.
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  int level = local->address.is_v6 ? SOL_IPV6 : SOL_IP;
  int option = local->address.is_v6 ? IP6T_SO_ORIGINAL_DST : SO_ORIGINAL_DST;
  if (getsockopt(fd, level, option, &storage, &size) != 0) return std::nullopt;
  std::optional<Endpoint> original = from_kernel(storage);
  if (!original || *original == *local) return std::nullopt;
  return original;
}

void set_no_delay(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

constexpr int kWindowOfThisHost = 1 << 20;

// Nothing is lost on the way to this very host, and controls that pace what they send (BBR) halve
// the rate of a loopback. Nor is there a distance for a large window to bridge: what the kernel
// would let pile up (32 MiB) only leaves the caches before it is read.
static void suit_to_way(int fd, const Endpoint& to) {
  std::optional<Endpoint> from = local_endpoint(fd);
  bool stays_here =
      class_of(to.address) == AddressClass::kLoopback || (from && from->address == to.address);
  if (!stays_here) return;
  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kWindowOfThisHost, sizeof kWindowOfThisHost);
}

Task<Connected> connect_tcp(Loop& loop, Deadlines& deadlines, Endpoint to,
                            std::chrono::seconds time) {
  int family = to.address.is_v6 ? AF_INET6 : AF_INET;
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) co_return Connected{std::nullopt, errno};
  set_no_delay(fd.get());
  SocketAddress address = to_kernel(to);
  int error = ::connect(fd.get(), address.get(), address.size) == 0 ? 0 : errno;
  suit_to_way(fd.get(), to);  // the kernel has chosen where it goes out
  Connected result;
  result.socket.emplace(loop, std::move(fd));
  if (error == EINPROGRESS) {
    Deadline deadline(deadlines, &*result.socket);
    deadline.after(time);
    co_await result.socket->writable();
    socklen_t size = sizeof error;
    getsockopt(result.socket->fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (deadline.passed()) error = ETIMEDOUT;
  }
  result.error = error;
  if (error) result.socket.reset();
  co_return result;
}

}  // namespace caisson

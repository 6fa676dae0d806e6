#include "gateway_net.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

namespace caisson::bench {

namespace {

// Letters and digits from chance: what a gateway that looks for secrets can't skip.
const std::vector<char>& body() {
  static const std::vector<char> bytes = [] {
    std::vector<char> made(kPiece);
    std::minstd_rand chance(1);
    for (char& c : made)
      c = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[chance() >> 8 & 63];
    return made;
  }();
  return bytes;
}

struct Addresses {
  addrinfo* first = nullptr;
  ~Addresses() {
    if (first) ::freeaddrinfo(first);
  }
};

int dial(const std::string& host, const std::string& port) {
  Addresses found;
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  if (int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found.first)) {
    errno = 0;
    give_up(host + ": " + ::gai_strerror(error));
  }
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, found.first->ai_addr, found.first->ai_addrlen) != 0)
    give_up("connect to " + host + ":" + port);
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

std::string base64(std::string_view text) {
  std::vector<unsigned char> coded(text.size() / 3 * 4 + 5);
  int size = ::EVP_EncodeBlock(coded.data(), reinterpret_cast<const unsigned char*>(text.data()),
                               static_cast<int>(text.size()));
  return {reinterpret_cast<char*>(coded.data()), static_cast<size_t>(size)};
}

// http://[user:password@]host:port[/]
Connection connect_by_proxy(const std::string& target) {
  const char* variable = ::getenv("HTTPS_PROXY");
  std::string proxy = variable ? variable : "", login;
  if (!proxy.starts_with("http://")) give_up("$HTTPS_PROXY names no HTTP proxy");
  proxy.erase(0, strlen("http://"));
  if (proxy.ends_with('/')) proxy.pop_back();
  if (size_t at = proxy.rfind('@'); at != proxy.npos) {
    login = "Proxy-Authorization: Basic " + base64(proxy.substr(0, at)) + "\r\n";
    proxy.erase(0, at + 1);
  }
  size_t colon = proxy.rfind(':');
  if (colon == proxy.npos) give_up("$HTTPS_PROXY names no port");
  Connection made(dial(proxy.substr(0, colon), proxy.substr(colon + 1)));
  made.write("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n" + login + "\r\n");
  std::string rest, head = made.read_head(rest);
  if (head.find(" 200 ") == head.npos || !rest.empty()) give_up("the proxy says: " + head);
  return made;
}

}  // namespace

void give_up(std::string_view what) {
  int error = errno;
  fprintf(stderr, "bench: %.*s%s%s\n", static_cast<int>(what.size()), what.data(),
          error ? ": " : "", error ? strerror(error) : "");
  ::ERR_print_errors_fp(stderr);
  ::_exit(1);
}

Connection::Connection(Connection&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), ssl_(std::exchange(other.ssl_, nullptr)) {}

Connection::~Connection() {
  if (ssl_) ::SSL_free(ssl_);
  if (fd_ >= 0) ::close(fd_);
}

bool Connection::accept_tls(SSL_CTX* context) {
  ssl_ = ::SSL_new(context);
  ::SSL_set_fd(ssl_, fd_);
  return ::SSL_accept(ssl_) == 1;
}

void Connection::connect_tls(SSL_CTX* context, const std::string& host) {
  ssl_ = ::SSL_new(context);
  ::SSL_set_fd(ssl_, fd_);
  ::SSL_set_tlsext_host_name(ssl_, host.c_str());
  ::SSL_set1_host(ssl_, host.c_str());
  errno = 0;
  if (::SSL_connect(ssl_) != 1) give_up("TLS to " + host);
}

size_t Connection::read(std::span<char> into) {
  if (ssl_)
    return static_cast<size_t>(
        std::max(::SSL_read(ssl_, into.data(), static_cast<int>(into.size())), 0));
  ssize_t got = ::recv(fd_, into.data(), into.size(), 0);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

bool Connection::write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t put = ssl_ ? ::SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                       : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

bool Connection::read_all(std::span<char> into) {
  while (!into.empty()) {
    size_t got = read(into);
    if (got == 0) return false;
    into = into.subspan(got);
  }
  return true;
}

bool Connection::discard(uint64_t count) {
  std::vector<char> piece(kPiece);
  while (count != 0) {
    size_t got = read(std::span(piece).first(std::min<uint64_t>(count, kPiece)));
    if (got == 0) return false;
    count -= got;
  }
  return true;
}

bool Connection::send(uint64_t count) {
  while (count != 0) {
    size_t size = std::min<uint64_t>(count, kPiece);
    if (!write({body().data(), size})) return false;
    count -= size;
  }
  return true;
}

std::string Connection::read_head(std::string& rest) {
  char piece[4096];
  for (;;) {
    if (size_t end = rest.find("\r\n\r\n"); end != rest.npos) {
      std::string head = rest.substr(0, end + 4);
      rest.erase(0, end + 4);
      return head;
    }
    size_t got = rest.size() < kMaxHead ? read(piece) : 0;
    if (got == 0) return {};
    rest.append(piece, got);
  }
}

int listen_on(const std::string& address, uint16_t port) {
  Addresses found;
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found.first) != 0)
    give_up("no address: " + address);
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd < 0 || ::bind(fd, found.first->ai_addr, found.first->ai_addrlen) != 0 ||
      ::listen(fd, SOMAXCONN) != 0)
    give_up("listen on " + address);
  return fd;
}

Connection connect_to(const std::string& host, uint16_t port, bool by_proxy) {
  if (by_proxy) return connect_by_proxy(host + ":" + std::to_string(port));
  return Connection(dial(host, std::to_string(port)));
}

std::string_view field(std::string_view head, std::string_view name) {
  for (size_t at = head.find("\r\n"); at != head.npos; at = head.find("\r\n", at + 2)) {
    std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    if (line.size() <= name.size() || line[name.size()] != ':' ||
        ::strncasecmp(line.data(), name.data(), name.size()) != 0)
      continue;
    line.remove_prefix(name.size() + 1);
    return line.substr(std::min(line.find_first_not_of(' '), line.size()));
  }
  return {};
}

}  // namespace caisson::bench

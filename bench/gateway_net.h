// What the server and the client of the gateway's benchmark share: a connection, with or without
// TLS, that sends and receives in large pieces, and what the two say to each other.
//
// stream:  the client sends one byte (kDown or kUp) and a 64-bit count; down: that many bytes come
//          back; up: that many follow, and one byte comes back when all have arrived.
// http:    GET is answered with "ok".
// https:   GET /N is answered with N bytes, POST with "ok" when its body has arrived; both need
//          "Authorization: Bearer" and the value of the secret.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::bench {

constexpr char kDown = 1, kUp = 2;  // no text: a gateway can't take them for a request
constexpr uint16_t kStreamPort = 7001, kHttpPort = 7002, kHttpsPort = 7003;
constexpr size_t kPiece = 1024 * 1024;
constexpr size_t kMaxHead = 16 * 1024;

[[noreturn]] void give_up(std::string_view what);  // with errno's text, and OpenSSL's if it has one

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  Connection(Connection&&) noexcept;
  ~Connection();

  int fd() const { return fd_; }
  bool accept_tls(SSL_CTX*);
  void connect_tls(SSL_CTX*, const std::string& host);
  size_t read(std::span<char> into);  // 0: the peer has ended
  bool write(std::string_view);       // all of it
  bool read_all(std::span<char> into);
  // False: the peer ended before so many bytes had come, or gone.
  bool discard(uint64_t count);
  bool send(uint64_t count);
  // Up to and with the empty line; what followed it stays in `rest`. Empty: no head came.
  std::string read_head(std::string& rest);

 private:
  int fd_ = -1;
  SSL* ssl_ = nullptr;
};

int listen_on(const std::string& address, uint16_t port);
// By name or address; with `by_proxy` through the HTTP proxy that $HTTPS_PROXY names.
Connection connect_to(const std::string& host, uint16_t port, bool by_proxy);

// The value of a field such as "content-length", without its spaces; empty when it isn't there.
std::string_view field(std::string_view head, std::string_view name);

}  // namespace caisson::bench

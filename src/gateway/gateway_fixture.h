// For tests: a gateway on the loopback, clients that speak to it, and hosts that it dials.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "gateway/control_frames.h"
#include "gateway/gateway.h"
#include "gateway/handover.h"

// A namespace of its own: every test of the project is in one program.
namespace caisson::gateway_tests {

inline UniqueFd loopback_socket(int type) {
  UniqueFd fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
  if (type == SOCK_STREAM) ::listen(fd.get(), 128);
  return fd;
}

inline uint16_t port_of(const UniqueFd& fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// A blocking client or server end; a test that waits longer than this has failed.
class Peer {
 public:
  explicit Peer(UniqueFd fd) : fd_(std::move(fd)) {
    timeval patience{.tv_sec = 20};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  static Peer to(uint16_t port) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
    return Peer(std::move(fd));
  }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t put = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(put));
    }
  }
  void end() { ::shutdown(fd_.get(), SHUT_WR); }
  // What is there; "" at the end or by error.
  std::string receive(size_t most = 65536) {
    std::string bytes(most, '\0');
    ssize_t got = ::recv(fd_.get(), bytes.data(), most, 0);
    error_ = got < 0 ? errno : 0;
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
  }
  std::string receive_all() {
    std::string all;
    for (std::string more = receive(); !more.empty(); more = receive()) all += more;
    return all;
  }
  std::string receive_until(std::string_view mark) {
    std::string all;
    while (all.find(mark) == std::string::npos) {
      std::string more = receive();
      if (more.empty()) break;
      all += more;
    }
    return all;
  }
  int error() const { return error_; }

 private:
  UniqueFd fd_;
  int error_ = 0;
};

// A host that serves each connection with a function, one after the other.
class FakeHost {
 public:
  explicit FakeHost(std::function<void(Peer&)> serve)
      : listener_(loopback_socket(SOCK_STREAM)), port_(port_of(listener_)) {
    thread_ = std::thread([this, serve = std::move(serve)] {
      for (;;) {
        UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!fd) return;
        ++connections_;
        Peer peer(std::move(fd));
        serve(peer);
      }
    });
  }
  ~FakeHost() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  uint16_t port() const { return port_; }
  int connections() const { return connections_; }

  // Answers every request with its own head.
  static void echo_heads(Peer& peer) {
    for (;;) {
      std::string head = peer.receive_until("\r\n\r\n");
      if (head.empty()) return;
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(head.size()) + "\r\n\r\n" +
                head);
    }
  }
  static void echo_bytes(Peer& peer) {
    for (std::string bytes = peer.receive(); !bytes.empty(); bytes = peer.receive())
      peer.send(bytes);
    peer.end();
  }

 private:
  UniqueFd listener_;
  uint16_t port_;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

class RunningGateway {
 public:
  // Names of `hosts` resolve to 127.0.0.1.
  explicit RunningGateway(GatewayConfig config, std::string hosts = "a.test b.test") {
    config.hosts_file = "127.0.0.1 " + hosts + "\n";
    int control[2], cell[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0 ||
        ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, cell) != 0)
      std::abort();
    control_ = UniqueFd(control[0]);
    UniqueFd ours(cell[0]);
    thread_ = std::thread([config = std::move(config), theirs = control[1], socket = cell[1]] {
      run_gateway(config, theirs, socket);
    });
    UniqueFd tcp = loopback_socket(SOCK_STREAM), udp = loopback_socket(SOCK_DGRAM);
    UniqueFd dns = loopback_socket(SOCK_STREAM);
    tcp_port = port_of(tcp);
    udp_port = port_of(udp);
    dns_port = port_of(dns);
    hand_over(ours.get(), {tcp.get(), udp.get(), dns.get()});
    wait_for('R');
  }
  ~RunningGateway() {
    control_.reset();
    thread_.join();
  }

  // The bodies of frames of that type, up to and with the first that comes.
  std::string wait_for(char type) {
    for (;;) {
      bool broken = false;
      while (auto frame = take_control_frame(received_, broken)) {
        frames_.push_back(*frame);
        if (frame->type == type) return frame->body;
      }
      char chunk[4096];
      ssize_t got = ::recv(control_.get(), chunk, sizeof chunk, 0);
      if (got <= 0) return "";
      received_.append(chunk, static_cast<size_t>(got));
    }
  }
  void say(ControlType type, std::string_view body) {
    std::string frame = control_frame(type, body);
    ASSERT_EQ(::send(control_.get(), frame.data(), frame.size(), 0),
              static_cast<ssize_t>(frame.size()));
  }

  // The answer to one who asked for a proxy's connection.
  void hand(const std::string& answer, int descriptor) {
    std::string frame = control_frame(ControlType::kProxy, answer);
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    iovec bytes{frame.data(), frame.size()};
    msghdr header{
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    if (::sendmsg(control_.get(), &header, 0) < 0) std::abort();
  }

  uint16_t tcp_port = 0, udp_port = 0, dns_port = 0;

 private:
  static void hand_over(int channel, std::vector<int> sockets) {
    HandoverMessage message;
    message.count = 3;
    message.kinds[0] = kHandoverTcpListener;
    message.kinds[1] = kHandoverDnsUdp;
    message.kinds[2] = kHandoverDnsTcpListener;
    alignas(cmsghdr) char room[CMSG_SPACE(3 * sizeof(int))] = {};
    iovec bytes{&message, sizeof message};
    msghdr header{
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(3 * sizeof(int));
    std::memcpy(CMSG_DATA(rights), sockets.data(), 3 * sizeof(int));
    if (::sendmsg(channel, &header, 0) < 0) std::abort();
  }

  UniqueFd control_;
  std::string received_;
  std::vector<ControlFrame> frames_;
  std::thread thread_;
};

// Allows a.test on the host's port; the address itself too, since it is a loopback address.
inline GatewayConfig config_for(const FakeHost& host) {
  GatewayConfig config;
  std::string port = std::to_string(host.port());
  config.rules.allow = {"a.test:" + port, "127.0.0.1:" + port};
  return config;
}

inline std::string get(const FakeHost& host, std::string_view name, std::string_view path) {
  std::string where = std::string(name) + ":" + std::to_string(host.port());
  return "GET http://" + where + std::string(path) + " HTTP/1.1\r\nHost: " + where + "\r\n\r\n";
}

}  // namespace caisson::gateway_tests

// The other end of the gateway's benchmark: streams, small answers, and TLS (see gateway_net.h).
// Says "ready" when it listens, and ends when its standard input does.
//
// usage: gateway_server ADDRESS CERTIFICATE KEY        the secret's value is $BENCH_SECRET
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <unordered_map>

#include "gateway_net.h"

using namespace caisson::bench;

namespace {

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

int accept_one(int listener) {
  int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), on = 1;
  if (fd < 0) give_up("accept");
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void serve_each(int listener, const std::function<void(Connection)>& serve) {
  for (;;) {
    int fd = accept_one(listener);
    std::thread([fd, serve] { serve(Connection(fd)); }).detach();
  }
}

void serve_stream(Connection peer) {
  char way;
  uint64_t count;
  if (!peer.read_all({&way, 1}) || !peer.read_all({reinterpret_cast<char*>(&count), 8})) return;
  if (way == kDown)
    peer.send(count);
  else if (peer.discard(count))
    peer.write(".");
}

void serve_https(Connection peer, SSL_CTX* context, const std::string& login) {
  if (!peer.accept_tls(context)) return;
  std::string rest;
  for (;;) {
    std::string head = peer.read_head(rest);
    if (head.empty()) return;
    if (field(head, "authorization") != login) {
      peer.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    if (head.starts_with("POST ")) {
      uint64_t left = ::strtoull(std::string(field(head, "content-length")).c_str(), nullptr, 10);
      if (rest.size() > left || !peer.discard(left - rest.size())) return;
      rest.clear();
      peer.write(kOk);
    } else {
      std::string count = std::to_string(::strtoull(head.c_str() + strlen("GET /"), nullptr, 10));
      peer.write("HTTP/1.1 200 OK\r\nContent-Length: " + count + "\r\n\r\n");
      if (!peer.send(::strtoull(count.c_str(), nullptr, 10))) return;
    }
  }
}

// One thread for all: many small requests shall measure the gateway, not a herd of threads.
class HttpServer {
 public:
  explicit HttpServer(int listener) : listener_(listener), poll_(::epoll_create1(EPOLL_CLOEXEC)) {
    watch(listener);
  }

  void run() {
    epoll_event events[64];
    for (;;) {
      int count = ::epoll_wait(poll_, events, 64, -1);
      for (int i = 0; i < count; ++i) {
        if (events[i].data.fd == listener_)
          watch(accept_one(listener_));
        else
          answer(events[i].data.fd);
      }
    }
  }

 private:
  void watch(int fd) {
    epoll_event event{EPOLLIN, {.fd = fd}};
    if (::epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event) != 0) give_up("epoll_ctl");
  }

  void answer(int fd) {
    char piece[4096];
    ssize_t got = ::recv(fd, piece, sizeof piece, 0);
    std::string& head = heads_[fd];
    if (got <= 0 || head.size() > kMaxHead) {
      heads_.erase(fd);
      ::close(fd);
      return;
    }
    head.append(piece, static_cast<size_t>(got));
    for (size_t end; (end = head.find("\r\n\r\n")) != head.npos; head.erase(0, end + 4))
      ::send(fd, kOk.data(), kOk.size(), MSG_NOSIGNAL);
  }

  int listener_, poll_;
  std::unordered_map<int, std::string> heads_;
};

SSL_CTX* tls_context(const char* certificate, const char* key) {
  SSL_CTX* context = ::SSL_CTX_new(::TLS_server_method());
  errno = 0;
  if (::SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM) != 1 ||
      ::SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
    give_up("the certificate");
  return context;
}

}  // namespace

int main(int argc, char** argv) {
  const char* secret = ::getenv("BENCH_SECRET");
  if (argc != 4 || !secret) give_up("usage: gateway_server ADDRESS CERTIFICATE KEY");
  ::signal(SIGPIPE, SIG_IGN);
  SSL_CTX* context = tls_context(argv[2], argv[3]);
  std::string login = std::string("Bearer ") + secret;
  int stream = listen_on(argv[1], kStreamPort), http = listen_on(argv[1], kHttpPort);
  int https = listen_on(argv[1], kHttpsPort);
  std::thread([=] { serve_each(stream, serve_stream); }).detach();
  std::thread([=] { HttpServer(http).run(); }).detach();
  std::thread([=] {
    serve_each(https, [=](Connection peer) { serve_https(std::move(peer), context, login); });
  }).detach();
  if (::write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
  char byte;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  ::_exit(0);
}

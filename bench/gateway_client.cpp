// One measurement from where it is run, inside a cell or outside: prints the milliseconds.
//
// usage: gateway_client [--by-proxy] MODE HOST COUNT [CONNECTIONS]
//   down, up            one TCP stream of COUNT bytes
//   tls-down, tls-up    the same as the body of one HTTPS request, which carries $BENCH_KEY
//   request             the median of COUNT small HTTP requests, one after the other, kept alive
//   connect             the same, each on a connection of its own
//   load                COUNT requests in all, on CONNECTIONS connections at once, kept alive
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fmt/format.h>

#include "cases.h"
#include "gateway_net.h"

using namespace caisson::bench;

namespace {

struct Task {
  std::string mode, host;
  uint64_t count = 0;
  unsigned connections = 1;
  bool by_proxy = false;
};

double stream(const Task& task, char way) {
  Connection peer = connect_to(task.host, kStreamPort, task.by_proxy);
  char order[9] = {way};
  ::memcpy(order + 1, &task.count, 8);
  double begin = now_ms();
  peer.write({order, sizeof order});
  char byte;
  bool whole =
      way == kDown ? peer.discard(task.count) : peer.send(task.count) && peer.read_all({&byte, 1});
  if (!whole) give_up("the stream broke");
  return now_ms() - begin;
}

SSL_CTX* tls_context() {
  SSL_CTX* context = ::SSL_CTX_new(::TLS_client_method());
  const char* bundle = ::getenv("SSL_CERT_FILE");
  if (!bundle) bundle = "/etc/ssl/certs/ca-certificates.crt";
  errno = 0;
  if (::SSL_CTX_load_verify_locations(context, bundle, nullptr) != 1) give_up(bundle);
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  return context;
}

double tls(const Task& task, bool down) {
  const char* key = ::getenv("BENCH_KEY");
  if (!key) give_up("$BENCH_KEY is not set");
  Connection peer = connect_to(task.host, kHttpsPort, task.by_proxy);
  peer.connect_tls(tls_context(), task.host);
  std::string fields =
      fmt::format("Host: {}:{}\r\nAuthorization: Bearer {}\r\n", task.host, kHttpsPort, key);
  double begin = now_ms();
  if (down) {
    peer.write(fmt::format("GET /{} HTTP/1.1\r\n{}\r\n", task.count, fields));
  } else {
    peer.write(fmt::format("POST / HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n", fields, task.count));
    peer.send(task.count);
  }
  std::string rest, head = peer.read_head(rest);
  errno = 0;
  if (!head.starts_with("HTTP/1.1 200 ")) give_up("the server says: " + head);
  if (down && !peer.discard(task.count - rest.size())) give_up("the body broke");
  return now_ms() - begin;
}

std::string request_text(const Task& task) {
  return fmt::format("GET / HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n",
                     task.host, kHttpPort);
}

void expect_ok(Connection& peer, std::string& rest) {
  std::string head = peer.read_head(rest);
  errno = 0;
  if (!head.starts_with("HTTP/1.1 200 ") || field(head, "content-length") != "2")
    give_up("the server says: " + head);
  while (rest.size() < 2) {
    char piece[16];
    size_t got = peer.read(piece);
    if (got == 0) give_up("the answer broke");
    rest.append(piece, got);
  }
  rest.erase(0, 2);
}

double requests(const Task& task, bool each_its_own) {
  std::string text = request_text(task), rest;
  std::vector<double> times;
  Connection kept = connect_to(task.host, kHttpPort, task.by_proxy);
  for (uint64_t i = 0; i < task.count; ++i) {
    double begin = now_ms();
    if (each_its_own) {
      Connection own = connect_to(task.host, kHttpPort, task.by_proxy);
      own.write(text);
      expect_ok(own, rest);
    } else {
      kept.write(text);
      expect_ok(kept, rest);
    }
    times.push_back(now_ms() - begin);
  }
  return summarize(times).p50;
}

double load(const Task& task) {
  std::string text = request_text(task);
  std::vector<Connection> peers;
  std::vector<std::string> rests(task.connections);
  std::vector<pollfd> polls;
  for (unsigned i = 0; i < task.connections; ++i) {
    peers.push_back(connect_to(task.host, kHttpPort, task.by_proxy));
    polls.push_back({peers.back().fd(), POLLIN, 0});
  }
  double begin = now_ms();
  uint64_t sent = 0, done = 0;
  for (Connection& peer : peers)
    if (sent < task.count && peer.write(text)) ++sent;
  while (done < task.count) {
    if (::poll(polls.data(), polls.size(), -1) < 0) give_up("poll");
    for (unsigned i = 0; i < task.connections; ++i) {
      if (polls[i].revents == 0) continue;
      expect_ok(peers[i], rests[i]);
      ++done;
      if (sent < task.count && peers[i].write(text)) ++sent;
    }
  }
  return now_ms() - begin;
}

double measure(const Task& task) {
  if (task.mode == "down") return stream(task, kDown);
  if (task.mode == "up") return stream(task, kUp);
  if (task.mode == "tls-down") return tls(task, true);
  if (task.mode == "tls-up") return tls(task, false);
  if (task.mode == "request") return requests(task, false);
  if (task.mode == "connect") return requests(task, true);
  if (task.mode == "load") return load(task);
  give_up("unknown mode: " + task.mode);
}

}  // namespace

int main(int argc, char** argv) {
  Task task;
  if (argc > 1 && strcmp(argv[1], "--by-proxy") == 0) {
    task.by_proxy = true;
    --argc;
    ++argv;
  }
  if (argc != 4 && argc != 5) give_up("usage: gateway_client MODE HOST COUNT [CONNECTIONS]");
  task.mode = argv[1];
  task.host = argv[2];
  task.count = ::strtoull(argv[3], nullptr, 10);
  if (argc == 5) task.connections = static_cast<unsigned>(::atoi(argv[4]));
  if (task.count == 0 || task.connections == 0) give_up("no number");
  ::signal(SIGPIPE, SIG_IGN);
  fmt::print("{:.4f}\n", measure(task));
}

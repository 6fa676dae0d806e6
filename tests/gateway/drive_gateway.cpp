// Runs a gateway without a cell, for tests with real clients.
//   drive_gateway CONFIG.json                  listens on 127.0.0.1; prints the ports, then every
//   frame drive_gateway CONFIG.json COMMAND [ARG]…   runs the command in a network namespace of its
//   own whose
//                                              TCP and DNS go to the gateway (root, ip and nft
//                                              needed)
// CONFIG: {"allow": […], "deny": […], "requests": […], "hosts": "127.0.0.1 a.test\n", "resolv":
// "…",
//          "forward": […], "publish": […], "up": N, "down": N, "max_connections": N, "ca_bundle":
//          "…", "dns_types": […], "http_proxy": "…", "https_proxy": "…", "no_proxy": "…",
//          "secrets": [{"name": "…", "value": "…", "hosts": […], "body": true}], "port": N}
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "gateway/control_frames.h"
#include "gateway/gateway.h"
#include "gateway/handover.h"
#include "gateway/placeholder.h"

using namespace caisson;
namespace json = boost::json;

namespace {

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::string read_file(const char* path) {
  std::string text;
  FILE* file = std::fopen(path, "r");
  if (!file) die(path);
  char chunk[4096];
  while (size_t got = std::fread(chunk, 1, sizeof chunk, file)) text.append(chunk, got);
  std::fclose(file);
  return text;
}

std::string text_of(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value ? std::string(value->as_string()) : std::string();
}

uint64_t number_of(const json::object& object, const char* key, uint64_t otherwise) {
  const json::value* value = object.if_contains(key);
  return value ? value->to_number<uint64_t>() : otherwise;
}

std::vector<std::string> texts_of(const json::object& object, const char* key) {
  std::vector<std::string> texts;
  if (const json::value* value = object.if_contains(key))
    for (const json::value& each : value->as_array()) texts.emplace_back(each.as_string());
  return texts;
}

std::vector<uint16_t> ports_of(const json::object& object, const char* key) {
  std::vector<uint16_t> ports;
  if (const json::value* value = object.if_contains(key))
    for (const json::value& each : value->as_array()) ports.push_back(each.to_number<uint16_t>());
  return ports;
}

int listen_on(const char* address, uint16_t port, int type) {
  bool v6 = std::strchr(address, ':') != nullptr;
  int fd = socket(v6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int on = 1, off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);  // as a cell's listeners have it
  sockaddr_in v4_address{.sin_family = AF_INET, .sin_port = htons(port)};
  sockaddr_in6 v6_address{.sin6_family = AF_INET6, .sin6_port = htons(port)};
  const sockaddr* where = reinterpret_cast<sockaddr*>(&v4_address);
  socklen_t size = sizeof v4_address;
  if (v6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    inet_pton(AF_INET6, address, &v6_address.sin6_addr);
    where = reinterpret_cast<sockaddr*>(&v6_address);
    size = sizeof v6_address;
  } else {
    inet_pton(AF_INET, address, &v4_address.sin_addr);
  }
  if (bind(fd, where, size) != 0) die("bind");
  if (type == SOCK_STREAM && listen(fd, 1024) != 0) die("listen");
  return fd;
}

uint16_t port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

GatewayConfig config_of(const json::object& object) {
  GatewayConfig config;
  config.rules = {texts_of(object, "allow"), texts_of(object, "deny"), texts_of(object, "requests"),
                  texts_of(object, "denied_addresses")};
  config.forward = ports_of(object, "forward");
  for (uint16_t port : ports_of(object, "publish")) {
    int listener = listen_on("127.0.0.1", 0, SOCK_STREAM);
    config.publish.push_back({port, port_of(listener)});
    config.publish_listeners.push_back(listener);
    std::printf("publish %u %u\n", port, port_of(listener));
  }
  config.upload_budget = number_of(object, "up", 0);
  config.download_budget = number_of(object, "down", 0);
  config.max_connections = static_cast<uint32_t>(number_of(object, "max_connections", 1024));
  config.dns_types = texts_of(object, "dns_types");
  config.resolv_conf = text_of(object, "resolv");
  config.hosts_file = text_of(object, "hosts");
  config.upstream_http_proxy = text_of(object, "http_proxy");
  config.upstream_https_proxy = text_of(object, "https_proxy");
  config.no_proxy = text_of(object, "no_proxy");
  config.ca_bundle = text_of(object, "ca_bundle");
  if (const json::value* secrets = object.if_contains("secrets")) {
    for (const json::value& each : secrets->as_array()) {
      const json::object& told = each.as_object();
      Secret secret;
      secret.name = text_of(told, "name");
      secret.value = text_of(told, "value");
      secret.hosts = texts_of(told, "hosts");
      secret.in_body = told.contains("body");
      secret.placeholder = std::move(make_placeholder(secret.name)).value();
      std::printf("secret %s %s\n", secret.name.c_str(), secret.placeholder.c_str());
      config.secrets.push_back(std::move(secret));
    }
  }
  return config;
}

void hand_over(int channel, const std::vector<std::pair<uint32_t, int>>& sockets) {
  HandoverMessage message;
  message.count = static_cast<uint32_t>(sockets.size());
  std::vector<char> room(CMSG_SPACE(sockets.size() * sizeof(int)));
  iovec bytes{&message, sizeof message};
  msghdr header{.msg_iov = &bytes,
                .msg_iovlen = 1,
                .msg_control = room.data(),
                .msg_controllen = room.size()};
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sockets.size() * sizeof(int));
  for (size_t i = 0; i < sockets.size(); ++i) {
    message.kinds[i] = sockets[i].first;
    std::memcpy(CMSG_DATA(rights) + i * sizeof(int), &sockets[i].second, sizeof(int));
  }
  if (sendmsg(channel, &header, 0) < 0) die("sendmsg");
}

std::vector<std::pair<uint32_t, int>> make_sockets(const GatewayConfig& config, uint16_t port,
                                                   bool in_namespace) {
  std::vector<std::pair<uint32_t, int>> sockets;
  const char* address = in_namespace ? "::" : "127.0.0.1";
  int tcp = listen_on(address, in_namespace ? 3128 : port, SOCK_STREAM);
  int udp = listen_on("127.0.0.1", in_namespace ? 53 : 0, SOCK_DGRAM);
  int dns = listen_on("127.0.0.1", in_namespace ? 53 : 0, SOCK_STREAM);
  sockets = {{kHandoverTcpListener, tcp}, {kHandoverDnsUdp, udp}, {kHandoverDnsTcpListener, dns}};
  if (!in_namespace)
    std::printf("tcp %u\nudp %u\ndns %u\n", port_of(tcp), port_of(udp), port_of(dns));
  for (uint16_t each : config.forward) {
    int listener = listen_on("127.0.0.1", in_namespace ? each : 0, SOCK_STREAM);
    if (!in_namespace) std::printf("forward %u %u\n", each, port_of(listener));
    sockets.emplace_back(kHandoverForwardListener, listener);
  }
  for (int i = 0; i < 64 && !config.publish.empty(); ++i)
    sockets.emplace_back(kHandoverPoolSocket, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::fflush(stdout);
  return sockets;
}

constexpr const char kNamespace[] =
    "ip link set lo up && ip route add default dev lo src 127.0.0.1; "
    "ip -6 route add default dev lo src ::1 2>/dev/null; "
    "nft -f - <<'END'\n"
    "table inet gateway {\n"
    "  chain output { type nat hook output priority -100;\n"
    "    udp dport 53 redirect to :53\n"
    "    tcp dport 53 redirect to :53\n"
    "    ip daddr 127.0.0.0/8 accept\n"
    "    ip6 daddr ::1 accept\n"
    "    meta l4proto tcp redirect to :3128\n"
    "  }\n"
    "  chain filter { type filter hook output priority 0;\n"
    "    ip daddr 127.0.0.0/8 accept\n"
    "    meta l4proto udp reject\n"
    "  }\n"
    "}\nEND\n";

void print_frames(int control) {
  std::string received;
  char chunk[4096];
  ssize_t got;
  while ((got = read(control, chunk, sizeof chunk)) > 0) {
    received.append(chunk, static_cast<size_t>(got));
    bool broken = false;
    while (auto frame = take_control_frame(received, broken)) {
      std::printf("%c %s\n", frame->type, frame->body.c_str());
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  json::object object = json::parse(read_file(argv[1])).as_object();
  GatewayConfig config = config_of(object);
  std::fflush(stdout);
  int control[2], cell[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0 ||
      socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, cell) != 0)
    die("socketpair");
  pid_t gateway = fork();
  if (gateway == 0) {
    close(control[0]);
    close(cell[0]);
    _exit(run_gateway(std::move(config), control[1], cell[1]));
  }
  close(control[1]);
  close(cell[1]);
  bool in_namespace = argc > 2;
  if (in_namespace && (unshare(CLONE_NEWNET) != 0 || std::system(kNamespace) != 0))
    die("namespace");
  uint16_t port = static_cast<uint16_t>(number_of(object, "port", 0));
  hand_over(cell[0], make_sockets(config, port, in_namespace));
  int status = 0;
  if (in_namespace) {
    pid_t command = fork();
    if (command == 0) {
      execvp(argv[2], argv + 2);
      _exit(127);
    }
    waitpid(command, &status, 0);
    std::string end = control_frame(ControlType::kEnd, "");
    if (write(control[0], end.data(), end.size()) < 0) die("write");
  }
  print_frames(control[0]);
  waitpid(gateway, nullptr, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

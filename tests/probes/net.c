// The network: addresses, families, netlink (T40, T45). No names are resolved here.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

static socklen_t parse_address(const char* text, int port, struct sockaddr_storage* out) {
  memset(out, 0, sizeof *out);
  struct sockaddr_in* four = (struct sockaddr_in*)out;
  struct sockaddr_in6* six = (struct sockaddr_in6*)out;
  if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6, six->sin6_port = htons((uint16_t)port);
    return sizeof *six;
  }
  // inet_aton, on purpose: it takes decimal, octal and short forms as browsers do.
  if (!inet_aton(text, &four->sin_addr)) return 0;
  four->sin_family = AF_INET, four->sin_port = htons((uint16_t)port);
  return sizeof *four;
}

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int wait_connected(int fd) {
  struct pollfd ready = {fd, POLLOUT, 0};
  if (poll(&ready, 1, 3000) == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

static int connect_tcp(int argc, char** argv) {
  struct sockaddr_storage address;
  if (argc != 2) return PROBE_USAGE;
  socklen_t size = parse_address(argv[0], (int)number(argv[1]), &address);
  if (!size) return PROBE_USAGE;
  int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  long start = now_ms();
  int error = answer(connect(fd, (struct sockaddr*)&address, size));
  if (error == EINPROGRESS) error = wait_connected(fd);
  detail("%ld", now_ms() - start);
  return error;
}

static int send_udp(int argc, char** argv) {
  struct sockaddr_storage address;
  if (argc != 2) return PROBE_USAGE;
  socklen_t size = parse_address(argv[0], (int)number(argv[1]), &address);
  if (!size) return PROBE_USAGE;
  int fd = socket(address.ss_family, SOCK_DGRAM, 0);
  if (fd < 0) return errno;
  return answer(sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr*)&address, size));
}

static int make_socket(int argc, char** argv) {
  if (argc != 3) return PROBE_USAGE;
  return answer(socket((int)number(argv[0]), (int)number(argv[1]), (int)number(argv[2])));
}

static int make_pair(int argc, char** argv) {
  int ends[2];
  if (argc != 3) return PROBE_USAGE;
  return answer(socketpair((int)number(argv[0]), (int)number(argv[1]), (int)number(argv[2]), ends));
}

// A listener and a client in the same place: loopback is there, and one's own.
static int loopback(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0 || client < 0) return errno;
  if (bind(listener, (struct sockaddr*)&address, size) < 0 || listen(listener, 1) < 0) return errno;
  if (getsockname(listener, (struct sockaddr*)&address, &size) < 0) return errno;
  return answer(connect(client, (struct sockaddr*)&address, size));
}

static void name_links(char* bytes, size_t size) {
  for (struct nlmsghdr* head = (void*)bytes; NLMSG_OK(head, size); head = NLMSG_NEXT(head, size)) {
    if (head->nlmsg_type != RTM_NEWLINK) continue;
    struct ifinfomsg* link = NLMSG_DATA(head);
    int left = (int)IFLA_PAYLOAD(head);
    for (struct rtattr* part = IFLA_RTA(link); RTA_OK(part, left); part = RTA_NEXT(part, left)) {
      if (part->rta_type == IFLA_IFNAME) detail("%s\n", (char*)RTA_DATA(part));
    }
  }
}

struct LinkRequest {
  struct nlmsghdr head;
  struct ifinfomsg link;
};

static int send_link_request(const struct LinkRequest* request, int* fd) {
  *fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  if (*fd < 0) return errno;
  return answer(send(*fd, request, sizeof *request, 0));
}

static int list_links(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  struct LinkRequest request = {{sizeof request, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0},
                                {0}};
  int fd, error = send_link_request(&request, &fd);
  if (error) return error;
  static char buffer[65536];
  ssize_t size = recv(fd, buffer, sizeof buffer, 0);
  if (size < 0) return errno;
  name_links(buffer, (size_t)size);
  return 0;
}

// Sets no flag of no link: where the right is there, the answer is ENODEV.
static int change_link(int argc, char** argv) {
  (void)argv;
  if (argc != 0) return PROBE_USAGE;
  struct LinkRequest request = {{sizeof request, RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0},
                                {.ifi_index = 999999}};
  int fd, error = send_link_request(&request, &fd);
  if (error) return error;
  char buffer[4096];
  ssize_t size = recv(fd, buffer, sizeof buffer, 0);
  if (size < 0) return errno;
  struct nlmsghdr* head = (void*)buffer;
  struct nlmsgerr* told = NLMSG_DATA(head);
  if (head->nlmsg_type != NLMSG_ERROR) return EPROTO;
  if (told->error == -ENODEV) detail("ENODEV");
  return told->error == -ENODEV ? 0 : -told->error;
}

const struct Probe net_probes[] = {{"connect", connect_tcp, "ADDRESS PORT"},
                                   {"udp", send_udp, "ADDRESS PORT"},
                                   {"socket", make_socket, "FAMILY TYPE PROTOCOL"},
                                   {"socketpair", make_pair, "FAMILY TYPE PROTOCOL"},
                                   {"loopback", loopback, ""},
                                   {"links", list_links, ""},
                                   {"change-link", change_link, ""},
                                   {NULL, NULL, NULL}};

// Claim: without a grant there is no network at all, and with one no family beyond the usual.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

// A listener on the host's loopback.
struct Listener {
  Descriptor fd;
  std::string port;
  explicit Listener(int family) : fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in6 six{.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    sockaddr_in four{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    auto* address =
        family == AF_INET ? reinterpret_cast<sockaddr*>(&four) : reinterpret_cast<sockaddr*>(&six);
    socklen_t size = family == AF_INET ? sizeof four : sizeof six;
    if (::bind(fd.get(), address, size) != 0 || ::listen(fd.get(), 64) != 0) return;
    ::getsockname(fd.get(), address, &size);
    port = std::to_string(ntohs(family == AF_INET ? four.sin_port : six.sin6_port));
  }
};

TEST(Network, T45_AListenerOnTheHostsLoopbackIsUnreachable) {
  Listener host(AF_INET);
  ASSERT_FALSE(host.port.empty());
  // The same address in every spelling that a parser may take.
  for (const char* address : {"127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1",
                              "0.0.0.0", "::ffff:127.0.0.1", "::ffff:0:0"}) {
    EXPECT_TRUE(refused(in_cell({"connect", address, host.port}))) << address;
    EXPECT_TRUE(worked(on_host({"connect", address, host.port}))) << address;
    EXPECT_TRUE(worked(in_cell({"connect", address, host.port}, {"--allow-network"}))) << address;
  }
}

TEST(Network, T45_NorByTheSixthVersion) {
  Listener host(AF_INET6);
  if (host.port.empty()) {  // a host without IPv6: there is nothing to reach
    EXPECT_TRUE(refused(in_cell({"connect", "::1", "9"})));
    return;
  }
  EXPECT_TRUE(refused(in_cell({"connect", "::1", host.port})));
  EXPECT_TRUE(worked(on_host({"connect", "::1", host.port})));
}

// Only tried after the namespace is known to be another one: nothing may leave this machine.
TEST(Network, T45_NoAddressHasARouteAndTheAnswerComesAtOnce) {
  ASSERT_NE(in_cell({"ns", "self", "net"}).detail, on_host({"ns", "self", "net"}).detail);
  for (const char* address : {"169.254.169.254", "2852039166", "10.0.0.1", "192.0.2.1", "8.8.8.8",
                              "::ffff:169.254.169.254", "fd00:ec2::254", "2001:db8::1"}) {
    Answer inside = in_cell({"connect", address, "80"});
    EXPECT_TRUE(refused_with(inside, {ENETUNREACH, EADDRNOTAVAIL, EACCES})) << address;
    EXPECT_LT(std::stol(inside.detail), 1000) << address;
    EXPECT_TRUE(refused(in_cell({"udp", address, "53"}))) << address;
  }
  Listener host(AF_INET);
  EXPECT_TRUE(worked(on_host({"connect", "127.0.0.1", host.port})));
  EXPECT_TRUE(worked(on_host({"udp", "127.0.0.1", "9"})));
}

TEST(Network, T45_LoopbackIsThereAndTheOnlyLink) {
  EXPECT_TRUE(worked(in_cell({"loopback"})));
  EXPECT_EQ(in_cell({"links"}).detail, "lo\n");
  EXPECT_TRUE(worked(on_host({"links"})));
}

// It comes up beside the rest of the cell's beginning, and with it what leads to the gateway.
TEST(Network, T45_LoopbackIsUpBeforeTheFirstInstruction) {
  constexpr int kCells = 40;
  for (int i = 0; i < kCells; ++i) ASSERT_TRUE(worked(in_cell({"loopback"}))) << i;
}

TEST(Network, T45_TheGrantIsToldOnStderr) {
  Outcome outcome = run_cell({"/bin/true"}, {"--allow-network"});
  EXPECT_NE(outcome.err.find("network"), std::string::npos) << outcome.err;
  EXPECT_EQ(run_cell({"/bin/true"}).err.find("granted"), std::string::npos);
}

struct Family {
  const char* name;
  Words words;    // family, type, protocol
  bool for_root;  // only root can make one on the host
};

// AF_PACKET, AF_VSOCK, AF_ALG, AF_XDP, raw sockets, and netlink beyond routes: kernel code that
// most programs never use, with a history of holes.
const Family kFamilies[] = {{"packet raw", {"17", "3", "0"}, true},
                            {"packet datagram", {"17", "2", "0"}, true},
                            {"vsock", {"40", "1", "0"}, false},
                            {"xdp", {"44", "3", "0"}, true},
                            {"raw ICMP", {"2", "3", "1"}, true},
                            {"raw IP", {"2", "3", "255"}, true},
                            {"netlink netfilter", {"16", "3", "12"}, false},
                            {"netlink generic", {"16", "3", "16"}, false},
                            {"netlink uevent", {"16", "3", "15"}, false},
                            {"netlink audit", {"16", "3", "9"}, false},
                            {"netlink xfrm", {"16", "3", "6"}, false},
                            {"netlink sock_diag", {"16", "3", "4"}, false}};
// Not in every kernel, so without a control: hash and cipher sockets, and what is long out of use.
const Family kRareFamilies[] = {
    {"alg", {"38", "5", "0"}, false},      {"ax25", {"3", "5", "0"}, false},
    {"appletalk", {"5", "2", "0"}, false}, {"x25", {"9", "5", "0"}, false},
    {"rds", {"21", "5", "0"}, false},      {"can", {"29", "3", "1"}, false},
    {"tipc", {"30", "5", "0"}, false},     {"bluetooth", {"31", "3", "1"}, false},
    {"rxrpc", {"33", "2", "2"}, false},    {"kcm", {"41", "5", "0"}, false},
    {"qipcrtr", {"42", "2", "0"}, false},  {"smc", {"43", "1", "0"}, false},
    {"phonet", {"35", "2", "0"}, false},   {"nfc", {"39", "5", "1"}, false}};

TEST(Network, T40_FamiliesWithAHistoryAreShutWithAndWithoutTheGrant) {
  for (const Words& grant : {Words{}, Words{"--allow-network"}, Words{"--allow-nested"}}) {
    for (const Family& one : kFamilies)
      EXPECT_TRUE(refused(in_cell(Words{"socket"} + one.words, grant))) << one.name;
    for (const Family& one : kRareFamilies)
      EXPECT_TRUE(
          refused_with(in_cell(Words{"socket"} + one.words, grant), {EAFNOSUPPORT, EPERM, EACCES}))
          << one.name;
  }
}

TEST(Network, T40_ControlTheHostHasTheseFamilies) {
  int there = 0;
  for (const Family& one : kFamilies) {
    if (one.for_root && !as_root()) continue;
    there += on_host(Words{"socket"} + one.words).error == 0;
  }
  EXPECT_GE(there, 4);  // which of them a kernel has differs; netlink is in all
  EXPECT_TRUE(worked(on_host({"socket", "16", "3", "12"})));
  if (as_root()) {
    EXPECT_TRUE(worked(on_host({"socket", "17", "3", "0"})));
  }
}

TEST(Network, T40_OrdinarySocketsWork) {
  for (const Words& socket : {Words{"1", "1", "0"}, Words{"1", "2", "0"}, Words{"2", "1", "0"},
                              Words{"2", "2", "0"}, Words{"10", "1", "0"}, Words{"16", "3", "0"}})
    EXPECT_TRUE(worked(in_cell(Words{"socket"} + socket))) << socket[0] << " " << socket[1];
  EXPECT_TRUE(worked(in_cell({"socketpair", "1", "1", "0"})));
}

TEST(Network, T40_NoLinkCanBeChanged) {
  EXPECT_TRUE(refused(in_cell({"change-link"})));
  EXPECT_TRUE(refused(in_cell({"change-link"}, {"--allow-network"})));
  if (as_root()) {
    EXPECT_TRUE(worked(on_host({"change-link"})));
  }
}

}  // namespace
}  // namespace caisson::boundary

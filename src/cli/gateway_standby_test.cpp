#include "cli/gateway_standby.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/handover.h"

namespace caisson {

namespace {

struct Ends {
  UniqueFd one, other;
};

Ends make_ends(int type) {
  int fds[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

UniqueFd listener() {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  EXPECT_EQ(::listen(fd.get(), 8), 0);  // on a port that the kernel chooses
  return fd;
}

UniqueFd come_to(const UniqueFd& fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  return client;
}

// As the cell's child does it.
void hand_in(int to, const std::vector<std::pair<uint32_t, int>>& sockets) {
  HandoverMessage told;
  int fds[8];
  for (auto [kind, fd] : sockets) {
    fds[told.count] = fd;
    told.kinds[told.count++] = kind;
  }
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof fds)] = {};
  iovec bytes{&told, sizeof told};
  msghdr message{.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room};
  message.msg_controllen = CMSG_SPACE(told.count * sizeof(int));
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(told.count * sizeof(int));
  ::memcpy(CMSG_DATA(rights), fds, told.count * sizeof(int));
  EXPECT_EQ(::sendmsg(to, &message, 0), static_cast<ssize_t>(sizeof told));
}

bool is_readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

ino_t inode_of(const UniqueFd& fd) {
  struct stat info {};
  ::fstat(fd.get(), &info);
  return info.st_ino;
}

TEST(GatewayStandby, NobodyIsThereUntilSomebodyComes) {
  Result<GatewayStandby> standby = GatewayStandby::make();
  ASSERT_TRUE(standby.ok());
  EXPECT_FALSE(is_readable(standby->fd()));
  UniqueFd proxies = listener(), dns = listener();
  hand_in(standby->take_cell_end().get(),
          {{kHandoverTcpListener, proxies.get()}, {kHandoverDnsTcpListener, dns.get()}});
  EXPECT_TRUE(is_readable(standby->fd()));
  EXPECT_FALSE(standby->look());  // the sockets have come, and nobody to them
  EXPECT_FALSE(is_readable(standby->fd()));
  UniqueFd client = come_to(dns);
  EXPECT_TRUE(is_readable(standby->fd()));
  EXPECT_TRUE(standby->look());
}

TEST(GatewayStandby, PassesTheSocketsOnInTheirOrder) {
  Result<GatewayStandby> standby = GatewayStandby::make();
  ASSERT_TRUE(standby.ok());
  UniqueFd proxies = listener(), first = listener(), second = listener();
  hand_in(standby->take_cell_end().get(), {{kHandoverTcpListener, proxies.get()},
                                           {kHandoverForwardListener, first.get()},
                                           {kHandoverForwardListener, second.get()}});
  EXPECT_FALSE(standby->look());
  Ends gateway = make_ends(SOCK_SEQPACKET), control = make_ends(SOCK_STREAM);
  ASSERT_TRUE(standby->hand_over(gateway.one.get(), control.one.get()).ok());
  Result<CellSockets> got = receive_handover(gateway.other.get());
  ASSERT_TRUE(got.ok());
  ASSERT_EQ(got->tcp.size(), 1u);
  ASSERT_EQ(got->forward.size(), 2u);
  EXPECT_EQ(inode_of(got->tcp[0]), inode_of(proxies));
  EXPECT_EQ(inode_of(got->forward[0]), inode_of(first));
  EXPECT_EQ(inode_of(got->forward[1]), inode_of(second));
  // From now on it is the gateway that is listened to.
  UniqueFd client = come_to(first);
  EXPECT_FALSE(is_readable(standby->fd()));
  EXPECT_EQ(::write(control.other.get(), "x", 1), 1);
  EXPECT_TRUE(is_readable(standby->fd()));
}

TEST(GatewayStandby, CellThatEndsBeforeItHasSocketsIsNobody) {
  Result<GatewayStandby> standby = GatewayStandby::make();
  ASSERT_TRUE(standby.ok());
  standby->take_cell_end().reset();
  EXPECT_TRUE(is_readable(standby->fd()));
  EXPECT_FALSE(standby->look());
  EXPECT_FALSE(is_readable(standby->fd()));
  Ends gateway = make_ends(SOCK_SEQPACKET);
  EXPECT_FALSE(standby->hand_over(gateway.one.get(), gateway.one.get()).ok());
}

}  // namespace

}  // namespace caisson

#include "base/descriptor_message.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>

#include "base/unique_fd.h"

namespace caisson {

namespace {

struct Pair {
  UniqueFd one, other;
};

Pair make_pair() {
  int fds[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

ino_t inode_of(int fd) {
  struct stat found {};
  EXPECT_EQ(::fstat(fd, &found), 0);
  return found.st_ino;
}

void send(int socket, std::span<const int> descriptors) {
  char word = 'w';
  iovec data{&word, 1};
  DescriptorSpace<8> space;
  msghdr message{.msg_iov = &data, .msg_iovlen = 1};
  put_descriptors(message, space.bytes, descriptors);
  ASSERT_EQ(::sendmsg(socket, &message, 0), 1);
}

std::vector<UniqueFd> receive(int socket) {
  char word = 0;
  iovec data{&word, 1};
  DescriptorSpace<8> space;
  msghdr message{.msg_iov = &data,
                 .msg_iovlen = 1,
                 .msg_control = space.bytes,
                 .msg_controllen = sizeof space.bytes};
  EXPECT_EQ(::recvmsg(socket, &message, MSG_CMSG_CLOEXEC), 1);
  EXPECT_EQ(word, 'w');
  return take_descriptors<UniqueFd>(message);
}

}  // namespace

TEST(DescriptorMessage, AllArriveInTheirOrder) {
  Pair sockets = make_pair(), some = make_pair();
  UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  const int sent[] = {some.one.get(), null.get(), some.other.get()};
  send(sockets.one.get(), sent);
  std::vector<UniqueFd> came = receive(sockets.other.get());
  ASSERT_EQ(came.size(), std::size(sent));
  for (size_t i = 0; i < came.size(); ++i) EXPECT_EQ(inode_of(came[i].get()), inode_of(sent[i]));
}

TEST(DescriptorMessage, NoneIsAPlainMessage) {
  Pair sockets = make_pair();
  send(sockets.one.get(), {});
  EXPECT_TRUE(receive(sockets.other.get()).empty());
}

// What is dropped is closed: its other end finds nobody.
TEST(DescriptorMessage, WhatCameIsOwned) {
  Pair sockets = make_pair(), some = make_pair();
  send(sockets.one.get(), std::array{some.one.get()});
  some.one.reset();
  std::vector<UniqueFd> came = receive(sockets.other.get());
  ASSERT_EQ(came.size(), 1u);
  char byte;
  EXPECT_EQ(::recv(some.other.get(), &byte, 1, MSG_DONTWAIT), -1);
  came.clear();
  EXPECT_EQ(::recv(some.other.get(), &byte, 1, MSG_DONTWAIT), 0);
}

}  // namespace caisson

#include "session/foreign_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace caisson::session {
namespace {

constexpr int kLingerSeconds = 8;

double seconds_now() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// A TCP socket whose last close waits: its peer doesn't read what it has sent.
struct Lingering {
  Lingering() {
    UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* where = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener.get(), where, size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), where, &size), 0);
    ours.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(ours.get(), where, size), 0);
    peer.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char bytes[65536] = {};
    while (::send(ours.get(), bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
    linger wait{1, kLingerSeconds};
    EXPECT_EQ(::setsockopt(ours.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait), 0);
  }
  UniqueFd ours, peer;
};

void send_with(int socket, int fd, size_t bytes) {
  char byte[1] = {'x'};
  iovec data{byte, bytes};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof fd)]{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof space;
  cmsghdr* part = CMSG_FIRSTHDR(&header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof fd);
  ::memcpy(CMSG_DATA(part), &fd, sizeof fd);
  ASSERT_EQ(::sendmsg(socket, &header, 0), static_cast<ssize_t>(bytes));
}

TEST(ForeignFd, ASocketThatLingersIsLetGoOfAtOnce) {
  Lingering one;
  double begin = seconds_now();
  { ForeignFd foreign(one.ours.release()); }
  EXPECT_LT(seconds_now() - begin, kLingerSeconds / 2.0);
}

TEST(ForeignFd, ThatSocketDoesLinger) {
  Lingering one;
  linger wait{1, 1};
  ::setsockopt(one.ours.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
  double begin = seconds_now();
  one.ours.reset();
  EXPECT_GE(seconds_now() - begin, 0.9);
}

TEST(ForeignFd, ItIsClosedAndNotKept) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader{ends[0]};
  for (int i = 0; i < 50; ++i) ForeignFd again(::fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
  { ForeignFd writer(ends[1]); }
  char byte;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);  // waits for the last of them
}

TEST(ForeignFd, WhatWaitsInTheQueueOfASocketIsLetGoOfAsWell) {
  for (int type : {SOCK_SEQPACKET, SOCK_STREAM}) {
    Lingering one;
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
    UniqueFd ours{ends[0]}, theirs{ends[1]};
    // An empty message is not the end of what is there.
    if (type == SOCK_SEQPACKET) {
      ASSERT_EQ(::send(theirs.get(), "", 0, 0), 0);
    }
    send_with(theirs.get(), one.ours.get(), 1);
    one.ours.reset();
    theirs.reset();
    double begin = seconds_now();
    close_socket(std::move(ours));
    EXPECT_LT(seconds_now() - begin, kLingerSeconds / 2.0) << type;
  }
}

TEST(ForeignFd, OnlyMemoryWithItsSealsIsSealedMemory) {
  ForeignFd memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_FALSE(memory.is_sealed_memory());
  ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
  EXPECT_TRUE(memory.is_sealed_memory());
  EXPECT_FALSE(ForeignFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).is_sealed_memory());
  EXPECT_FALSE(ForeignFd().is_sealed_memory());
}

}  // namespace
}  // namespace caisson::session

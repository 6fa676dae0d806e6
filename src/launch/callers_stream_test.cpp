#include "launch/callers_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

#include <gtest/gtest.h>

#include <string>

namespace caisson {
namespace {

struct Ends {
  UniqueFd read, write;
};

Ends pipe_ends() {
  int fds[2];
  EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Ends socket_ends() {
  int fds[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// With a name, so that the kernel promises nothing for a single call.
Ends fifo_ends() {
  std::string path = ::testing::TempDir() + "/callers_stream_" + std::to_string(::getpid());
  EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
  Ends ends;
  ends.read.reset(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ends.write.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ::fcntl(ends.read.get(), F_SETFL, 0);
  ::unlink(path.c_str());
  return ends;
}

Ends terminal_ends() {
  int master, slave;
  EXPECT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  termios raw;
  ::tcgetattr(slave, &raw);
  ::cfmakeraw(&raw);
  ::tcsetattr(slave, TCSANOW, &raw);
  return {UniqueFd(slave), UniqueFd(master)};
}

// The other way: what is written is shown.
Ends screen_ends() {
  Ends ends = terminal_ends();
  std::swap(ends.read, ends.write);
  return ends;
}

bool would_wait(int fd, short events) {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, 0) == 0;
}

bool is_blocking(int fd) { return !(::fcntl(fd, F_GETFL) & O_NONBLOCK); }

// A call that waits ends the test by a signal: so a hang is told as one.
class Shared : public ::testing::TestWithParam<Ends (*)()> {
 protected:
  void SetUp() override { ::alarm(60); }
  void TearDown() override { ::alarm(0); }
};
class SharedInput : public Shared {};
class SharedOutput : public Shared {};

TEST_P(SharedInput, WhatAnotherReaderTookIsNotWaitedFor) {
  Ends ends = GetParam()();
  ASSERT_TRUE(is_blocking(ends.read.get()));
  CallersStream stream(ends.read.get());
  char buffer[16];
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(::write(ends.write.get(), "ab", 2), 2);
    ASSERT_FALSE(would_wait(stream.fd(), POLLIN));
    ASSERT_EQ(::read(ends.read.get(), buffer, sizeof buffer), 2);  // by somebody else
    ASSERT_TRUE(would_wait(ends.read.get(), POLLIN));  // as read(2) on this descriptor would
    EXPECT_EQ(stream.read(buffer, sizeof buffer), -1);
    EXPECT_EQ(errno, EAGAIN);
    ASSERT_EQ(::write(ends.write.get(), "c", 1), 1);
    ASSERT_FALSE(would_wait(stream.fd(), POLLIN));
    EXPECT_EQ(stream.read(buffer, sizeof buffer), 1);
    EXPECT_EQ(buffer[0], 'c');
  }
  EXPECT_TRUE(is_blocking(ends.read.get())) << "the caller's own open file was changed";
}

TEST_P(SharedOutput, RoomThatAnotherWriterTookIsNotWaitedFor) {
  Ends ends = GetParam()();
  ASSERT_TRUE(is_blocking(ends.write.get()));
  CallersStream stream(ends.write.get()), other(ends.write.get());
  ASSERT_FALSE(would_wait(stream.fd(), POLLOUT));
  EXPECT_EQ(stream.write("x"), 1);
  while (other.write(std::string(4096, 'x')) > 0) {
  }
  EXPECT_EQ(stream.write(std::string(100000, 'y')), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(stream.lost(), 0);
  EXPECT_TRUE(is_blocking(ends.write.get()));
}

INSTANTIATE_TEST_SUITE_P(EveryKind, SharedInput,
                         ::testing::Values(pipe_ends, fifo_ends, socket_ends, terminal_ends));
INSTANTIATE_TEST_SUITE_P(EveryKind, SharedOutput,
                         ::testing::Values(pipe_ends, fifo_ends, socket_ends, screen_ends));

TEST(CallersStream, TheEndOfAFifoThatEndedBeforeIsSeen) {
  Ends ends = fifo_ends();
  ASSERT_EQ(::write(ends.write.get(), "a", 1), 1);
  ends.write.reset();
  CallersStream stream(ends.read.get());
  char byte;
  EXPECT_EQ(stream.read(&byte, 1), 1);
  EXPECT_FALSE(would_wait(stream.fd(), POLLIN));
  EXPECT_EQ(stream.read(&byte, 1), 0);
}

TEST(CallersStream, AFullDeviceIsAFailureAndAReaderWhoLeftIsNone) {
  UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  CallersStream device(full.get());
  EXPECT_EQ(device.write("x"), -1);
  EXPECT_EQ(device.lost(), ENOSPC);

  ::signal(SIGPIPE, SIG_IGN);
  Ends ends = pipe_ends();
  ends.read.reset();
  CallersStream stream(ends.write.get());
  EXPECT_EQ(stream.write("x"), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_EQ(stream.lost(), 0);
  ::signal(SIGPIPE, SIG_DFL);

  CallersStream closed(-1);
  EXPECT_EQ(closed.write("x"), -1);
  EXPECT_EQ(closed.lost(), 0);
}

TEST(CallersStream, AFileIsReadAndWrittenWhole) {
  UniqueFd file(::open(::testing::TempDir().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  CallersStream stream(file.get());
  EXPECT_TRUE(stream.is_file());
  EXPECT_EQ(stream.write(std::string(100000, 'x')), 100000);
  ::lseek(file.get(), 0, SEEK_SET);
  std::string back(200000, '\0');
  EXPECT_EQ(stream.read(back.data(), back.size()), 100000);
  EXPECT_EQ(stream.read(back.data(), back.size()), 0);
}

}  // namespace
}  // namespace caisson

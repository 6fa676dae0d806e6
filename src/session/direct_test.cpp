#include "session/direct.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace caisson::session {
namespace {

using Kind = DirectMessage::Kind;

constexpr std::string_view kReport{"\x60\0\0\0\0\0\0\0\0\0\0\0\0\0", 14};

struct Pair {
  explicit Pair(int type = SOCK_SEQPACKET, bool reports = true) {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
    theirs.reset(fds[1]);
    int on = 1;
    ::setsockopt(fds[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    if (reports) EXPECT_EQ(::send(fds[1], kReport.data(), kReport.size(), 0), 14);
    made = Direct::take(loop, ForeignFd{fds[0]}, 3);
  }
  Loop loop;
  UniqueFd theirs;
  Result<std::shared_ptr<Direct>> made = Error::plain("not yet");

  DirectMessage after(std::string_view bytes, std::vector<int> fds = {}) {
    iovec data{const_cast<char*>(bytes.data()), bytes.size()};
    DescriptorSpace<kMostFrameDescriptors> space;
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    put_descriptors(header, space.bytes, fds);
    EXPECT_EQ(::sendmsg(theirs.get(), &header, 0), static_cast<ssize_t>(bytes.size()));
    return (*made)->receive();
  }
};

std::string message(uint8_t type, std::string_view body) {
  std::string out{static_cast<char>(type), '\x05'};
  out += std::string("\x04\x03\x02\x01", 4) + std::string("\x08\x07\x06\x05\x04\x03\x02\x01", 8);
  return out += body;
}

TEST(Direct, ACallIsOneMessageWithItsNumberBeforeTheBody) {
  Pair pair;
  ASSERT_TRUE(pair.made.ok());
  EXPECT_EQ((*pair.made)->generation(), 3u);
  ASSERT_TRUE((*pair.made)->send(FrameType::kExec, {0x01020304, 7, 0x0102030405060708}, "1+1", {}));
  char bytes[64];
  ssize_t got = ::recv(pair.theirs.get(), bytes, sizeof bytes, 0);
  std::string wanted = message(2, std::string("\x07\0\0\0", 4) + "1+1");
  wanted[1] = 2;
  EXPECT_EQ(std::string(bytes, static_cast<size_t>(got)), wanted);
}

TEST(Direct, AnAnswerIsReadAsItIs) {
  Pair pair;
  DirectMessage answer = pair.after(message(66, "{}"));
  EXPECT_EQ(answer.kind, Kind::kResult);
  EXPECT_EQ(answer.bits, 5);
  EXPECT_EQ(answer.request, 0x01020304u);
  EXPECT_EQ(answer.nonce, 0x0102030405060708u);
  EXPECT_EQ(answer.body, "{}");
  EXPECT_FALSE(answer.spilled);
  Result<UniqueFd> body = sealed_memfd("test", "{}");
  ASSERT_TRUE(body.ok());
  EXPECT_TRUE(pair.after(message(66 | 0x80, ""), {body->get()}).spilled);
}

TEST(Direct, WhatIsNoAnswerIsNonsense) {
  Pair pair;
  EXPECT_EQ(pair.after("x").kind, Kind::kNonsense);
  EXPECT_EQ(pair.after(message(66, "").substr(0, 13)).kind, Kind::kNonsense);
  EXPECT_EQ(pair.after(message(67, "{}")).kind, Kind::kNonsense);
  EXPECT_EQ(pair.after(message(66, std::string(40000, 'x'))).kind, Kind::kNonsense);
  // Descriptors that nobody asked for, and a spilled body without one.
  Result<UniqueFd> body = sealed_memfd("test", "{}");
  ASSERT_TRUE(body.ok());
  int fd = body->get();
  EXPECT_EQ(pair.after(message(66, "{}"), {fd}).kind, Kind::kNonsense);
  EXPECT_EQ(pair.after(message(66 | 0x80, "")).kind, Kind::kNonsense);
  EXPECT_EQ(pair.after(message(66 | 0x80, ""), {fd, fd}).kind, Kind::kNonsense);
  EXPECT_EQ(pair.after(message(66 | 0x80, ""), {pair.theirs.get()}).kind, Kind::kForeign);
  EXPECT_EQ(pair.after(message(66, "{}")).kind, Kind::kResult);  // and it goes on
}

TEST(Direct, NoCallGoesToOneThatHasNotReportedYet) {
  Pair pair(SOCK_SEQPACKET, false);
  ASSERT_TRUE(pair.made.ok());
  Direct& direct = **pair.made;
  EXPECT_TRUE(direct.awaits_report());
  EXPECT_FALSE(direct.send(FrameType::kExec, {}, "1+1", {}));
  ASSERT_EQ(::send(pair.theirs.get(), kReport.data(), kReport.size(), 0), 14);
  EXPECT_FALSE(direct.awaits_report());
  EXPECT_TRUE(direct.send(FrameType::kExec, {}, "1+1", {}));
  EXPECT_EQ(pair.after(message(66, "{}")).kind, Kind::kResult);
}

TEST(Direct, OneWhoseFirstWordIsAnotherIsNotCalled) {
  for (bool ends : {true, false}) {
    Pair pair(SOCK_SEQPACKET, false);
    ASSERT_TRUE(pair.made.ok());
    std::string word = message(66, "{}");
    if (ends)
      pair.theirs.reset();
    else
      ASSERT_GT(::send(pair.theirs.get(), word.data(), word.size(), 0), 0);
    EXPECT_FALSE((*pair.made)->awaits_report());
    EXPECT_FALSE((*pair.made)->send(FrameType::kExec, {}, "1+1", {}));
  }
}

TEST(Direct, AnAnswerOfAnotherProcessIsNone) {
  Pair pair;
  pid_t child = ::fork();
  if (child == 0) {
    std::string bytes = message(66, "{}");
    ::_exit(::send(pair.theirs.get(), bytes.data(), bytes.size(), 0) > 0 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ((*pair.made)->receive().kind, Kind::kNonsense);
  EXPECT_EQ(pair.after(message(66, "{}")).kind, Kind::kResult);
  EXPECT_EQ(pair.after(std::string(kReport)).kind, Kind::kNonsense);  // a second report is none
}

TEST(Direct, NothingAndTheEndAreTwoThings) {
  Pair pair;
  EXPECT_EQ((*pair.made)->receive().kind, Kind::kNothing);
  pair.theirs.reset();
  EXPECT_EQ((*pair.made)->receive().kind, Kind::kEnded);
  EXPECT_FALSE((*pair.made)->send(FrameType::kExec, {}, "", {}));
}

TEST(Direct, OneThatDoesNotReadIsNotWaitedFor) {
  Pair pair;
  std::string body(20000, 'x');
  int sent = 0;
  while (sent < 1000 && (*pair.made)->send(FrameType::kExec, {}, body, {})) ++sent;
  EXPECT_GT(sent, 0);
  EXPECT_LT(sent, 1000);
}

TEST(Direct, OnlyASocketOfMessagesIsTaken) {
  EXPECT_FALSE(Pair(SOCK_STREAM).made.ok());
  Loop loop;
  EXPECT_FALSE(Direct::take(loop, ForeignFd{::open("/dev/null", O_RDWR | O_CLOEXEC)}, 1).ok());
  EXPECT_FALSE(Direct::take(loop, ForeignFd{}, 1).ok());
}

TEST(Direct, AStopIsWhatTheKeeperReads) {
  EXPECT_EQ(encode_stop({9, 2, 1}, 3, 4, 5, StopReason::kInterrupt),
            std::string("\1\0\0\0\0\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\1", 25));
}

}  // namespace
}  // namespace caisson::session

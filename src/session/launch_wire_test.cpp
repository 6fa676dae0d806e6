#include "session/launch_wire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

namespace caisson::session {
namespace {

struct WirePair {
  WirePair() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    here.reset(fds[0]);
    there.reset(fds[1]);
  }
  UniqueFd here, there;
};

TEST(LaunchWire, APacketArrivesAsItWasSent) {
  WirePair pair;
  LaunchPacket packet{.word = LaunchWord::kStartOwn, .id = 7, .number = uint64_t{1} << 40};
  packet.texts = {"main", "", std::string("\0x", 2)};
  packet.descriptors.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(send_packet(pair.here.get(), encode_packet(packet), packet.descriptors), Sent::kYes);
  Result<std::optional<LaunchPacket>> got = receive_packet(pair.there.get());
  ASSERT_TRUE(got.ok() && got->has_value());
  LaunchPacket& back = **got;
  EXPECT_EQ(back.word, packet.word);
  EXPECT_EQ(back.id, packet.id);
  EXPECT_EQ(back.number, packet.number);
  EXPECT_EQ(back.texts, packet.texts);
  ASSERT_EQ(back.descriptors.size(), 1u);
  EXPECT_TRUE(::fcntl(back.descriptors[0].get(), F_GETFD) & FD_CLOEXEC);
}

TEST(LaunchWire, NothingYetIsNoErrorAndAnEndIsOne) {
  WirePair pair;
  Result<std::optional<LaunchPacket>> got = receive_packet(pair.there.get());
  ASSERT_TRUE(got.ok());
  EXPECT_FALSE(got->has_value());
  pair.here.reset();
  EXPECT_FALSE(receive_packet(pair.there.get()).ok());
  EXPECT_EQ(send_packet(pair.there.get(), encode_packet({}), {}), Sent::kNever);
}

TEST(LaunchWire, WhatLiesAboutItsLengthIsRefused) {
  std::string good = encode_packet({.word = LaunchWord::kLoad, .id = 1, .texts = {"abc"}});
  ASSERT_TRUE(decode_packet(good).ok());
  for (size_t size = 0; size < good.size(); ++size)
    if (size != 16)  // a head without texts is a packet
      EXPECT_FALSE(decode_packet(std::string_view(good).substr(0, size)).ok()) << size;
  EXPECT_FALSE(decode_packet(good + "x").ok());
  std::string many = good;
  for (int i = 0; i < 10; ++i) many += good.substr(16);
  EXPECT_FALSE(decode_packet(many).ok());
  EXPECT_FALSE(decode_packet(std::string(kMostPacket + 1, '\0')).ok());
}

TEST(LaunchWire, ALongTextIsCutAndStillAPacket) {
  LaunchPacket packet{.word = LaunchWord::kFailed};
  packet.texts.assign(4, std::string(1 << 20, 'x'));
  std::string bytes = encode_packet(packet);
  EXPECT_LE(bytes.size(), kMostPacket);
  EXPECT_TRUE(decode_packet(bytes).ok());
}

TEST(LaunchWire, MoreDescriptorsThanThereMayBeEndIt) {
  WirePair pair;
  char bytes[16] = {1};
  iovec data{bytes, sizeof bytes};
  constexpr size_t kCount = kMostPacketDescriptors + 4;
  alignas(cmsghdr) char space[CMSG_SPACE(kCount * sizeof(int))]{};
  msghdr header{.msg_iov = &data, .msg_iovlen = 1};
  header.msg_control = space;
  header.msg_controllen = sizeof space;
  cmsghdr* part = CMSG_FIRSTHDR(&header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(kCount * sizeof(int));
  for (size_t i = 0; i < kCount; ++i) reinterpret_cast<int*>(CMSG_DATA(part))[i] = pair.here.get();
  ASSERT_GT(::sendmsg(pair.here.get(), &header, 0), 0);
  EXPECT_FALSE(receive_packet(pair.there.get()).ok());
}

}  // namespace
}  // namespace caisson::session

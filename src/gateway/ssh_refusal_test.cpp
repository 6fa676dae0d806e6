#include "gateway/ssh_refusal.h"

#include <gtest/gtest.h>

namespace caisson {

namespace {

size_t number_at(const std::string& bytes, size_t at) {
  size_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

}  // namespace

TEST(SshRefusal, IsOneWholePacketForEveryLengthOfItsText) {
  const std::string banner = "SSH-2.0-caisson\r\n";
  for (size_t length = 0; length < 40; ++length) {
    std::string sent = ssh_refusal(std::string(length, 'x'));
    ASSERT_TRUE(sent.starts_with(banner));
    std::string packet = sent.substr(banner.size());
    EXPECT_EQ(packet.size() % 8, 0u) << length;
    EXPECT_EQ(number_at(packet, 0), packet.size() - 4) << length;
    auto padding = static_cast<unsigned char>(packet[4]);
    EXPECT_GE(padding, 4) << length;
    EXPECT_EQ(packet[5], 1);
    EXPECT_EQ(number_at(packet, 10), length);
    EXPECT_EQ(5 + 1 + 4 + 4 + length + 4 + padding, packet.size());
  }
}

TEST(SshRefusal, TakesNothingThatATerminalWouldObey) {
  EXPECT_EQ(ssh_refusal("a\x1b[2Jb").find('\x1b'), std::string::npos);
  EXPECT_LT(ssh_refusal(std::string(100'000, 'x')).size(), 1000u);
}

}  // namespace caisson

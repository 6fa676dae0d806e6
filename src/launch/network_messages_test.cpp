// Their form; that the kernel takes them is what every test of a cell with a gateway shows.
#include "launch/network_messages.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>

#include <cstring>

namespace caisson {
namespace {

// How many whole messages the bytes hold; 0 when a length is wrong.
unsigned messages_in(std::span<const uint8_t> bytes) {
  unsigned count = 0;
  size_t at = 0;
  while (at < bytes.size()) {
    nlmsghdr header;
    if (bytes.size() - at < sizeof header) return 0;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > bytes.size() - at) return 0;
    at += NLMSG_ALIGN(header.nlmsg_len);
    ++count;
  }
  return count;
}

TEST(NetworkMessages, TheBatchIsATableAChainSixRulesAndItsMarks) {
  EXPECT_EQ(messages_in(steering_messages()), 2u + 1 + 1 + 6);
}

TEST(NetworkMessages, ThereIsOneRouteForEachFamily) {
  EXPECT_EQ(messages_in(route_messages()), kRouteMessages);
}

TEST(NetworkMessages, OnlyTheLastRuleAsksForAnAnswer) {
  std::span<const uint8_t> bytes = steering_messages();
  unsigned asking = 0, at = 0;
  while (at < bytes.size()) {
    nlmsghdr header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    asking += header.nlmsg_flags & NLM_F_ACK ? 1 : 0;
    at += NLMSG_ALIGN(header.nlmsg_len);
  }
  EXPECT_EQ(asking, 1u);
}

}  // namespace
}  // namespace caisson

#include "wire/fake_addresses.h"

#include <gtest/gtest.h>

#include <unordered_set>

#include <fmt/format.h>

namespace caisson {
namespace {

TEST(FakeAddresses, TheFirstNameGetsTheFirstAddressOfBothRanges) {
  FakeAddresses table;
  std::optional<FakeAddresses::Pair> pair = table.address_of("example.com");
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->v4.text(), "198.18.0.1");
  EXPECT_EQ(pair->v6, *parse_ip("fd63:6169:7373:6f6e::198.18.0.1"));
}

TEST(FakeAddresses, TheSameNameKeepsItsAddressAndOthersGetOthers) {
  FakeAddresses table;
  auto first = table.address_of("a.example"), other = table.address_of("b.example");
  EXPECT_EQ(table.address_of("a.example"), first);
  EXPECT_NE(other->v4, first->v4);
  EXPECT_NE(other->v6, first->v6);
  EXPECT_EQ(table.size(), 2u);
}

TEST(FakeAddresses, AnAddressGivesItsNameBack) {
  FakeAddresses table;
  for (int i = 0; i < 1000; ++i) {
    std::string name = fmt::format("host{}.example", i);
    auto pair = table.address_of(name);
    ASSERT_TRUE(pair);
    EXPECT_EQ(table.name_of(pair->v4), name);
    EXPECT_EQ(table.name_of(pair->v6), name);
  }
}

TEST(FakeAddresses, AddressesThatWereNotGivenOutHaveNoName) {
  FakeAddresses table;
  table.address_of("example.com");
  for (const char* text :
       {"198.18.0.0", "198.18.0.2", "198.18.0.255", "198.18.1.1", "198.17.0.1", "198.20.0.1",
        "10.0.0.1", "fd63:6169:7373:6f6e::198.18.0.2", "fd63:6169:7373:6f6e::10.0.0.1",
        "fd63:6169:7373:6f6e:0:1:c612:1", "fd63::198.18.0.1", "64:ff9b::198.18.0.1"})
    EXPECT_EQ(table.name_of(*parse_ip(text)), std::nullopt) << text;
}

TEST(FakeAddresses, TheRangesEndWhereTheyEnd) {
  for (const char* text :
       {"198.18.0.0", "198.19.255.255", "fd63:6169:7373:6f6e::", "fd63:6169:7373:6f6e::ffff:ffff"})
    EXPECT_TRUE(FakeAddresses::is_fake(*parse_ip(text))) << text;
  for (const char* text : {"198.17.255.255", "198.20.0.0", "fd63:6169:7373:6f6d::1",
                           "fd63:6169:7373:6f6e:0:1::", "::1", "2001:db8::c612:1"})
    EXPECT_FALSE(FakeAddresses::is_fake(*parse_ip(text))) << text;
}

TEST(FakeAddresses, NoneEndsLikeANetworkOrABroadcastAddressAndNoneIsGivenTwice) {
  FakeAddresses table(1'000'000);  // more than there are
  std::unordered_set<IpAddress, IpAddressHash> seen;
  for (int i = 0;; ++i) {
    auto pair = table.address_of(fmt::format("{}.x", i));
    if (!pair) break;
    EXPECT_TRUE(pair->v4.bytes[3] != 0 && pair->v4.bytes[3] != 255);
    EXPECT_TRUE(FakeAddresses::is_fake(pair->v4) && FakeAddresses::is_fake(pair->v6));
    EXPECT_TRUE(seen.insert(pair->v4).second);
  }
  EXPECT_EQ(table.size(), 512u * 254u);
  EXPECT_TRUE(seen.contains(*parse_ip("198.19.255.254")));
}

TEST(FakeAddresses, AFullTableStillKnowsItsNames) {
  FakeAddresses table(2);
  auto first = table.address_of("a");
  ASSERT_TRUE(table.address_of("b"));
  EXPECT_EQ(table.address_of("c"), std::nullopt);
  EXPECT_EQ(table.address_of("a"), first);
  EXPECT_EQ(table.size(), 2u);
}

TEST(FakeAddresses, LongNamesFillItSooner) {
  FakeAddresses table;
  std::string tail(240, 'a');
  size_t made = 0;
  while (table.address_of(fmt::format("{:010}", made) + tail)) ++made;
  EXPECT_EQ(made, FakeAddresses::kMaxNameBytes / 250);
}

TEST(FakeAddresses, WhatIsNoNameGetsNone) {
  FakeAddresses table;
  EXPECT_EQ(table.address_of(""), std::nullopt);
  EXPECT_EQ(table.address_of(std::string(254, 'a')), std::nullopt);
}

}  // namespace
}  // namespace caisson

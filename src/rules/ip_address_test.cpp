#include "rules/ip_address.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

IpAddress ip(std::string_view text) {
  std::optional<IpAddress> address = parse_ip(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(IpAddress{});
}

TEST(IpAddress, ReadsPlainSpellingsAlone) {
  EXPECT_EQ(ip("10.1.2.3").text(), "10.1.2.3");
  EXPECT_EQ(ip("2001:DB8:0:0::1").text(), "2001:db8::1");
  for (const char* bad : {"", "1.2.3", "01.2.3.4", "1.2.3.4.", "1.2.3.256", "0x7f.0.0.1",
                          " 1.2.3.4", "::1%lo", "[::1]", ":::", "1::2::3", "12345::", "fe80::1%1"})
    EXPECT_FALSE(parse_ip(bad)) << bad;
  EXPECT_FALSE(parse_ip(std::string_view("1.2.3.4\0", 8)));
}

TEST(IpAddress, IsIPv4WhateverDressItCameIn) {
  for (const char* text : {"::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "::7f00:1",
                           "0:0:0:0:0:FFFF:7F00:0001"}) {
    EXPECT_EQ(ip(text), ip("127.0.0.1")) << text;
    EXPECT_EQ(ip(text).text(), "127.0.0.1");
  }
  EXPECT_TRUE(ip("::").is_v6);
  EXPECT_TRUE(ip("::1").is_v6);
  EXPECT_TRUE(ip("::ffff:0:7f00:1").is_v6);
}

TEST(IpAddress, IsMadeAgainFromBytesOfAnOpenStruct) {
  IpAddress mapped{true, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}};
  EXPECT_EQ(canonical(mapped), ip("10.0.0.1"));
  IpAddress dirty{false, {10, 0, 0, 1, 77}};
  EXPECT_EQ(canonical(dirty), ip("10.0.0.1"));
}

TEST(IpAddress, TellsWhereATranslatorWouldGo) {
  EXPECT_EQ(embedded_v4(ip("64:ff9b::7f00:1")), ip("127.0.0.1"));
  EXPECT_EQ(embedded_v4(ip("2002:a9fe:a9fe::1")), ip("169.254.169.254"));
  EXPECT_EQ(embedded_v4(ip("::ffff:0:10.0.0.1")), ip("10.0.0.1"));
  EXPECT_EQ(embedded_v4(ip("64:ff9b:0:0:1::7f00:1")), std::nullopt);
  EXPECT_EQ(embedded_v4(ip("2001:db8::1")), std::nullopt);
  EXPECT_EQ(embedded_v4(ip("32.2.1.1")), std::nullopt);
}

TEST(AddressClass, IsThatOfTheRangeItIsIn) {
  using enum AddressClass;
  struct Case {
    const char* text;
    AddressClass kind;
  };
  for (auto [text, kind] : {
           Case{"1.1.1.1", kGlobal},
           {"9.255.255.255", kGlobal},
           {"10.0.0.0", kPrivate},
           {"10.255.255.255", kPrivate},
           {"11.0.0.0", kGlobal},
           {"0.0.0.0", kThisNetwork},
           {"0.255.1.2", kThisNetwork},
           {"127.0.0.1", kLoopback},
           {"127.255.255.254", kLoopback},
           {"128.0.0.1", kGlobal},
           {"169.254.1.1", kLinkLocal},
           {"169.254.169.254", kMetadata},
           {"169.255.0.1", kGlobal},
           {"172.15.255.255", kGlobal},
           {"172.16.0.1", kPrivate},
           {"172.31.255.255", kPrivate},
           {"172.32.0.1", kGlobal},
           {"192.168.0.1", kPrivate},
           {"192.169.0.1", kGlobal},
           {"100.63.255.255", kGlobal},
           {"100.64.0.1", kPrivate},
           {"100.127.255.255", kPrivate},
           {"100.128.0.1", kGlobal},
           {"100.100.100.200", kMetadata},
           {"168.63.129.16", kMetadata},
           {"192.0.0.192", kMetadata},
           {"198.17.255.255", kGlobal},
           {"198.18.0.1", kFake},
           {"198.19.255.255", kFake},
           {"198.20.0.1", kGlobal},
           {"224.0.0.1", kMulticast},
           {"239.255.255.255", kMulticast},
           {"240.0.0.1", kReserved},
           {"255.255.255.254", kReserved},
           {"255.255.255.255", kBroadcast},
           {"::", kThisNetwork},
           {"::1", kLoopback},
           {"::2", kThisNetwork},
           {"2606:4700::1111", kGlobal},
           {"fd12::1", kPrivate},
           {"fd00:ec2::254", kMetadata},
           {"fd20:ce::254", kMetadata},
           {"fe80::1", kLinkLocal},
           {"fe80::a9fe:a9fe", kMetadata},
           {"febf::1", kLinkLocal},
           {"fec0::1", kReserved},
           {"ff02::1", kMulticast},
           {"fd63:6169:7373:6f6e::7", kFake},
           {"fd63:6169:7373:6f6e:1::7", kPrivate},
           {"64:ff9b::7f00:1", kLoopback},
           {"64:ff9b::a9fe:a9fe", kMetadata},
           {"64:ff9b::101:101", kGlobal},
           {"64:ff9b:1::7f00:1", kReserved},
           {"2002:7f00:1::", kLoopback},
           {"2002:101:101::1", kGlobal},
           {"2001::1", kReserved},
           {"::ffff:0:127.0.0.1", kLoopback},
           {"::ffff:169.254.169.254", kMetadata},
       })
    EXPECT_EQ(class_of(ip(text)), kind) << text << " is " << class_name(class_of(ip(text)));
}

TEST(Cidr, ContainsWhatSharesItsPrefix) {
  Result<Cidr> range = parse_cidr("172.16.0.0/12");
  ASSERT_TRUE(range.ok());
  EXPECT_TRUE(range->contains(ip("172.31.255.255")));
  EXPECT_FALSE(range->contains(ip("172.32.0.0")));
  EXPECT_FALSE(range->contains(ip("ac10::")));
  EXPECT_TRUE(parse_cidr("0.0.0.0/0")->contains(ip("255.1.2.3")));
  EXPECT_EQ(parse_cidr("10.1.2.3")->text(), "10.1.2.3/32");
  EXPECT_EQ(parse_cidr("fd00::/8")->text(), "fd00::/8");
  EXPECT_EQ(parse_cidr("::ffff:10.0.0.0/104")->text(), "10.0.0.0/8");
}

TEST(Cidr, RefusesWhatIsNoRange) {
  for (const char* bad : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/+8",
                          "10.0.0.0/8/8", "10.0.0.0/8 ", "fd00::/129", "example.com/8", "10/8",
                          "::ffff:10.0.0.0/95", "10.0.0.0/99999999999"})
    EXPECT_FALSE(parse_cidr(bad).ok()) << bad;
  Result<Cidr> sloppy = parse_cidr("10.1.2.3/8");
  ASSERT_FALSE(sloppy.ok());
  EXPECT_EQ(sloppy.error().hint, "write 10.0.0.0/8, or 10.1.2.3 alone");
}

TEST(Cidr, MasksEveryLength) {
  IpAddress ones4 = ip("255.255.255.255"), ones6 = ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
  EXPECT_EQ(masked(ones4, 0), ip("0.0.0.0"));
  EXPECT_EQ(masked(ones4, 9), ip("255.128.0.0"));
  EXPECT_EQ(masked(ones4, 32), ones4);
  EXPECT_EQ(masked(ones6, 33), ip("ffff:ffff:8000::"));
  EXPECT_EQ(masked(ones6, 128), ones6);
}

}  // namespace
}  // namespace caisson

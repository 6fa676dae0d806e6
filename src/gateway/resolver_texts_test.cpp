#include "gateway/resolver_texts.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

TEST(ResolverTexts, ServersAndSearchListAreRead) {
  ResolvConf conf = parse_resolv_conf(
      "# comment\nnameserver 10.0.0.1\nnameserver fe80::1%eth0\nnameserver 2001:db8::1 ; two\n"
      "search old.test\nsearch Corp.test bad_/name lab.test\noptions ndots:5\n");
  ASSERT_EQ(conf.servers.size(), 2u);
  EXPECT_EQ(conf.servers[0].text(), "10.0.0.1");
  EXPECT_EQ(conf.servers[1].text(), "2001:db8::1");
  EXPECT_EQ(conf.search, (std::vector<std::string>{"corp.test", "lab.test"}));
}

TEST(ResolverTexts, WithoutAServerTheLoopbackIsAsked) {
  ASSERT_EQ(parse_resolv_conf("").servers.size(), 1u);
  EXPECT_EQ(parse_resolv_conf("").servers[0].text(), "127.0.0.1");
}

TEST(ResolverTexts, HostsHaveSeveralNamesAndAddresses) {
  HostsTable hosts = parse_hosts("127.0.0.1 localhost A.test # here\n::1\tlocalhost\nnonsense x\n");
  ASSERT_EQ(hosts["localhost"].size(), 2u);
  EXPECT_TRUE(hosts["localhost"][1].is_v6);
  EXPECT_EQ(hosts["a.test"].size(), 1u);
  EXPECT_FALSE(hosts.contains("x"));
  EXPECT_FALSE(hosts.contains("here"));
}

}  // namespace
}  // namespace caisson

#include "gateway/upstream_proxy.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

HostPort at(std::string_view text) { return std::move(parse_host_port(text, 443)).value(); }

TEST(UpstreamProxy, IsReadFromTheUsualSpellings) {
  auto proxy = parse_proxy_url("http://me:p%40ss@proxy.test:3128/");
  ASSERT_TRUE(proxy.ok() && *proxy);
  EXPECT_EQ((*proxy)->address.text(), "proxy.test:3128");
  EXPECT_EQ((*proxy)->authorization, "Basic bWU6cEBzcw==");
  auto bare = parse_proxy_url("proxy.test:8080");
  ASSERT_TRUE(bare.ok() && *bare);
  EXPECT_EQ((*bare)->address.port, 8080);
  auto none = parse_proxy_url("");
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(*none);
  EXPECT_FALSE(parse_proxy_url("socks5://proxy.test").ok());
}

TEST(UpstreamProxy, NoProxyMatchesWholeLabelsRangesAndPorts) {
  constexpr std::string_view kList =
      "corp.test, .internal.test,*.x.test 10.0.0.0/8,[::1]:80,p.test:8080";
  for (std::string_view inside : {"corp.test", "a.corp.test", "a.internal.test", "a.x.test",
                                  "10.1.2.3", "[::1]:80", "p.test:8080"})
    EXPECT_TRUE(no_proxy_covers(kList, at(inside))) << inside;
  for (std::string_view outside : {"evilcorp.test", "corp.test.evil", "11.0.0.1", "p.test:80"})
    EXPECT_FALSE(no_proxy_covers(kList, at(outside))) << outside;
  EXPECT_TRUE(no_proxy_covers("*", at("any.test")));
  EXPECT_FALSE(no_proxy_covers("", at("any.test")));
}

TEST(UpstreamProxy, EachSchemeHasItsOwn) {
  auto proxies = UpstreamProxies::make({"http://plain.test:1", "http://tls.test:2", "direct.test"});
  ASSERT_TRUE(proxies.ok());
  EXPECT_EQ(proxies->for_http(at("a.test:80"))->address.text(), "plain.test:1");
  EXPECT_EQ(proxies->for_tunnel(at("a.test:443"))->address.text(), "tls.test:2");
  EXPECT_EQ(proxies->for_http(at("direct.test:80")), nullptr);
  EXPECT_EQ(proxies->for_tunnel(at("direct.test:443")), nullptr);
}

TEST(UpstreamProxy, TheLoopbackIsThisHostsAndNotThatOfAProxyElsewhere) {
  auto proxies = UpstreamProxies::make({"http://plain.test:1", "http://tls.test:2", ""});
  ASSERT_TRUE(proxies.ok());
  for (const char* place : {"localhost:80", "127.0.0.1:80", "127.7.7.7:80", "[::1]:80"}) {
    EXPECT_EQ(proxies->for_http(at(place)), nullptr) << place;
    EXPECT_EQ(proxies->for_tunnel(at(place)), nullptr) << place;
  }
  // One on the loopback itself sees the same loopback.
  proxies = UpstreamProxies::make({"", "", "", 3128});
  ASSERT_TRUE(proxies.ok());
  EXPECT_NE(proxies->for_tunnel(at("localhost:80")), nullptr);
}

}  // namespace
}  // namespace caisson

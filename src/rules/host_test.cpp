#include "rules/host.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

using namespace std::literals;

std::string host_text(std::string_view text) {
  Result<Host> host = parse_host(text);
  return host ? host->text() : "refused: " + host.error().what;
}

bool is_refused(std::string_view text) { return !parse_host(text).ok(); }

TEST(Host, HasOneSpelling) {
  EXPECT_EQ(host_text("API.GitHub.com"), "api.github.com");
  EXPECT_EQ(host_text("example.com."), "example.com");
  EXPECT_EQ(host_text("localhost"), "localhost");
  EXPECT_EQ(host_text("_dmarc.a-b.example"), "_dmarc.a-b.example");
  EXPECT_EQ(host_text("xn--Bcher-kva.example"), "xn--bcher-kva.example");
  EXPECT_EQ(host_text("3com.com"), "3com.com");
  EXPECT_EQ(host_text("127.0.0.1.example"), "127.0.0.1.example");
  EXPECT_EQ(host_text("0xg"), "0xg");
}

// T45: the address that inet_aton and browsers would go to is the one that is judged.
TEST(Host, OddSpellingsOfAddressesBecomeTheAddress) {
  for (const char* text :
       {"127.0.0.1", "127.1", "127.0.1", "0x7f.0.0.1", "0X7F.1", "0177.0.0.1", "2130706433",
        "0x7f000001", "017700000001", "127.0.0.1.", "127.0.0.01", "0x7f.0x0.0x0.0x1",
        "[::ffff:127.0.0.1]", "::ffff:7f00:1", "[::127.0.0.1]"})
    EXPECT_EQ(host_text(text), "127.0.0.1") << text;
  for (const char* text : {"2852039166", "0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE", "0251.0376.0251.0376",
                           "169.254.43518", "[::ffff:a9fe:a9fe]"})
    EXPECT_EQ(host_text(text), "169.254.169.254") << text;
  EXPECT_EQ(host_text("0"), "0.0.0.0");
  EXPECT_EQ(host_text("010.0.0.1"), "8.0.0.1");
}

TEST(Host, NamesThatEndInANumberAndAreNoAddressAreRefused) {
  for (const char* text : {"256.0.0.1", "1.2.3.4.5", "4294967296", "0x100000000", "08.0.0.1",
                           "1.2.3.09", "example.1", "example.0x1", "127.0.0.0x", "0x", "1..2",
                           "127.0.0.1..", "1.2.65536.1", "1.2.3.99999999999999999999", "a.b.00"})
    EXPECT_TRUE(is_refused(text)) << text << " became " << host_text(text);
}

TEST(Host, IPv6StandsInBracketsOrBareWithoutAZone) {
  EXPECT_EQ(host_text("[::1]"), "[::1]");
  EXPECT_EQ(host_text("::1"), "[::1]");
  EXPECT_EQ(host_text("[2001:DB8::0:1]"), "[2001:db8::1]");
  EXPECT_EQ(host_text("[64:ff9b::7f00:1]"), "[64:ff9b::7f00:1]");
  for (const char* text : {"[::1%lo]", "[fe80::1%25eth0]", "fe80::1%1", "[]", "[", "[::1", "::1]",
                           "[127.0.0.1]", "[example.com]", "[[::1]]", "[::1].", "[::1]x"})
    EXPECT_TRUE(is_refused(text)) << text;
}

// T47: what another parser might cut, decode or skip is no host name.
TEST(Host, HostileSpellingsAreRefused) {
  for (std::string_view text : {""sv,
                                "."sv,
                                ".."sv,
                                ".example.com"sv,
                                "example..com"sv,
                                "example.com.."sv,
                                "allowed.com\0.evil.com"sv,
                                "\0"sv,
                                "allowed.com\r\nHost: evil.com"sv,
                                "a b.com"sv,
                                "allowed.com\t"sv,
                                " allowed.com"sv,
                                "user@evil.com"sv,
                                "allowed.com@evil.com"sv,
                                "allowed.com/evil.com"sv,
                                "allowed.com\\evil.com"sv,
                                "allowed%2ecom"sv,
                                "%61llowed.com"sv,
                                "allowed.com#x"sv,
                                "allowed.com?x"sv,
                                "allowed.com:443"sv,
                                "allowed.com,evil.com"sv,
                                "allowed.com;evil"sv,
                                "http://allowed.com"sv,
                                "*.allowed.com"sv,
                                "*"sv,
                                "a.com\x7f"sv,
                                "b\xc3\xbc"
                                "cher.example"sv,
                                "evil.com\xef\xbc\x8f.allowed.com"sv,
                                "allowed\xe3\x80\x82"
                                "com"sv,
                                "\xff.com"sv,
                                "-a.com"sv,
                                "a-.com"sv,
                                "a.-b.com"sv,
                                "'a'.com"sv,
                                "a\"b.com"sv,
                                "<a>.com"sv,
                                "$(id).com"sv,
                                "a`b`.com"sv}) {
    Result<Host> host = parse_host(text);
    ASSERT_FALSE(host.ok()) << text << " became " << host->text();
    for (unsigned char c : host.error().what) EXPECT_TRUE(c >= 0x20 && c != 0x7f) << text;
  }
}

TEST(Host, NamesOfOtherScriptsAreToldAboutPunycode) {
  Result<Host> host = parse_host(
      "b\xc3\xbc"
      "cher.example");
  ASSERT_FALSE(host.ok());
  EXPECT_NE(host.error().hint.find("punycode"), std::string::npos);
}

TEST(Host, LengthsAreThoseOfDns) {
  std::string label(63, 'a');
  EXPECT_FALSE(is_refused(label + ".com"));
  EXPECT_TRUE(is_refused(label + "a.com"));
  std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  ASSERT_EQ(longest.size(), kMaxHostName);
  EXPECT_EQ(host_text(longest), longest);
  EXPECT_EQ(host_text(longest + "."), longest);
  EXPECT_TRUE(is_refused(longest + "b"));
  EXPECT_TRUE(is_refused(std::string(1 << 20, 'a')));
}

TEST(Host, CanonicalIsWhatParsingMakes) {
  for (const char* text : {"A.b.", "127.1", "::1", "[::ffff:1.2.3.4]", "localhost"})
    EXPECT_TRUE(is_canonical(*parse_host(text))) << text;
  EXPECT_FALSE(is_canonical(Host{}));
  EXPECT_FALSE(is_canonical(Host{"A.com", {}}));
  EXPECT_FALSE(is_canonical(Host{"a.com.", {}}));
  EXPECT_FALSE(is_canonical(Host{"127.1", {}}));
  EXPECT_FALSE(is_canonical(Host{"127.0.0.1", {}}));
  EXPECT_FALSE(is_canonical(Host{"a.com", IpAddress::v4({1, 2, 3, 4})}));
  IpAddress mapped{true, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 1, 2, 3, 4}};
  EXPECT_FALSE(is_canonical(Host{"", mapped}));
  EXPECT_TRUE(is_canonical(Host::of(mapped)));
}

TEST(HostPort, IsSplitAtItsOneColon) {
  auto text = [](std::string_view in, std::optional<uint16_t> port = {}) {
    Result<HostPort> place = parse_host_port(in, port);
    return place ? place->text() : "refused";
  };
  EXPECT_EQ(text("Example.com:8443"), "example.com:8443");
  EXPECT_EQ(text("example.com.:1", 80), "example.com:1");
  EXPECT_EQ(text("example.com", 443), "example.com:443");
  EXPECT_EQ(text("[::1]:80"), "[::1]:80");
  EXPECT_EQ(text("[::1]", 80), "[::1]:80");
  EXPECT_EQ(text("127.1:65535"), "127.0.0.1:65535");
  for (const char* bad : {"example.com",   "example.com:",   ":80",   "::1:80",  "a:b:80",
                          "a:0",           "a:65536",        "a:080", "a:+80",   "a:-1",
                          "a:80 ",         "a: 80",          "a:8e1", "[::1]80", "[::1]:",
                          "a:99999999999", "user:pass@a:80", "a]:80", "",        ":",
                          "[::1]:80:80"})
    EXPECT_EQ(text(bad), "refused") << bad;
  EXPECT_EQ(text("::1", 80), "refused");
}

TEST(Loopback, IsWhatIsNamedAsSuch) {
  for (const char* text : {"localhost", "LOCALHOST.", "127.0.0.1", "127.1", "127.7.7.7", "[::1]",
                           "[::ffff:127.0.0.1]"})
    EXPECT_TRUE(is_loopback(*parse_host(text))) << text;
  for (const char* text :
       {"localhost.test", "a.localhost", "128.0.0.1", "0.0.0.0", "[::2]", "[64:ff9b::7f00:1]"})
    EXPECT_FALSE(is_loopback(*parse_host(text))) << text;
}

TEST(Loopback, ItsUsualNamesAreOnePlaceOnOnePort) {
  auto same = [](const char* one, const char* other) {
    return is_same_place(*parse_host_port(one, 80), *parse_host_port(other, 80));
  };
  EXPECT_TRUE(same("localhost:9", "127.0.0.1:9"));
  EXPECT_TRUE(same("[::1]", "127.0.0.1"));
  EXPECT_TRUE(same("a.test:1", "A.test:1"));
  EXPECT_FALSE(same("localhost:9", "127.0.0.1:10"));
  EXPECT_FALSE(same("localhost", "127.7.7.7"));
  EXPECT_FALSE(same("localhost", "a.test"));
}

}  // namespace
}  // namespace caisson

#include "rules/host_pattern.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

HostPattern pattern(std::string_view text, PatternUse use = PatternUse::kAllow) {
  Result<HostPattern> made = parse_host_pattern(text, use);
  EXPECT_TRUE(made.ok()) << text << ": " << (made ? "" : made.error().what);
  return made ? *made : HostPattern{};
}

Error refusal(std::string_view text, PatternUse use = PatternUse::kAllow) {
  Result<HostPattern> made = parse_host_pattern(text, use);
  EXPECT_FALSE(made.ok()) << text << " became " << made->text();
  return made ? Error{} : made.error();
}

bool matches(std::string_view rule, std::string_view host, uint16_t port = 443) {
  return pattern(rule, PatternUse::kDeny).matches(*parse_host(host), port);
}

TEST(HostPattern, IsPrintedInItsOneSpelling) {
  for (const char* text :
       {"api.github.com", "*.github.com", "example.com:8443", "10.1.2.3:5432", "[::1]:80",
        "localhost", "[2001:db8::1]", "*.a.b.c:1", "xn--e1afmkfd.xn--p1ai"})
    EXPECT_EQ(pattern(text).text(), text);
  EXPECT_EQ(pattern("*.GitHub.COM.").text(), "*.github.com");
  EXPECT_EQ(pattern("[::ffff:10.1.2.3]:80").text(), "10.1.2.3:80");
  EXPECT_EQ(pattern("*:22", PatternUse::kDeny).text(), "*:22");
}

// T48: a suffix without the dot is another domain.
TEST(HostPattern, WildcardsMatchWholeLabelsAndNeverTheApex) {
  EXPECT_TRUE(matches("*.github.com", "api.github.com"));
  EXPECT_TRUE(matches("*.github.com", "a.b.github.com"));
  for (const char* other : {"github.com", "evilgithub.com", "api.github.com.evil.com",
                            "github.com.evil", "com", "api-github.com", "127.0.0.1", "[::1]"})
    EXPECT_FALSE(matches("*.github.com", other)) << other;
}

TEST(HostPattern, NamesAndAddressesMatchThemselvesAlone) {
  EXPECT_TRUE(matches("github.com", "GITHUB.com."));
  EXPECT_FALSE(matches("github.com", "api.github.com"));
  EXPECT_TRUE(matches("10.1.2.3", "10.1.515"));
  EXPECT_TRUE(matches("10.1.2.3", "[::ffff:10.1.2.3]"));
  EXPECT_FALSE(matches("10.1.2.3", "10.1.2.4"));
  EXPECT_FALSE(matches("[::1]", "127.0.0.1"));
  EXPECT_TRUE(matches("*", "10.1.2.3"));
  EXPECT_TRUE(matches("*", "a.example"));
}

TEST(HostPattern, APortIsThatPortAndNoPortIsEveryPort) {
  EXPECT_TRUE(matches("a.com:22", "a.com", 22));
  EXPECT_FALSE(matches("a.com:22", "a.com", 443));
  EXPECT_TRUE(matches("a.com", "a.com", 1));
  EXPECT_TRUE(matches("*:22", "a.com", 22));
  EXPECT_FALSE(matches("*:22", "a.com", 23));
}

TEST(HostPattern, TooWideIsRefusedToAllowAndTakenToDeny) {
  for (const char* text : {"*", "*:443", "*.com", "*.localhost:80"}) {
    refusal(text);
    EXPECT_EQ(pattern(text, PatternUse::kDeny).text(), text);
  }
  EXPECT_TRUE(matches("*.com", "a.b.com"));
}

TEST(HostPattern, StarsElsewhereAreRefused) {
  for (const char* text : {"**", "*.*", "*.*.com", "**.github.com", "*github.com", "api.*.com",
                           "api.*", "a*.github.com", "*.", "*..com", "*.1.2.3", "*.0.0.1",
                           "*.[::1]", "*.a.com:*", "a.com:*", "*.*.github.com"}) {
    refusal(text);
    refusal(text, PatternUse::kDeny);
  }
}

TEST(HostPattern, SchemesAndPathsAreSentToTheRequestRules) {
  for (const char* text :
       {"https://example.com", "http://a.com/b", "a.com/b", "a.com/", "*.a.com/x"}) {
    Error error = refusal(text);
    EXPECT_NE(error.hint.find("GET"), std::string::npos) << error.hint;
    EXPECT_NE(error.hint.find("https://example.com/path/*"), std::string::npos) << error.hint;
  }
}

TEST(HostPattern, RangesAreNoPatterns) {
  for (const char* text : {"10.0.0.0/8", "10.0.0.0/8:5432", "[fd00::]/8", "0.0.0.0/0"}) {
    EXPECT_NE(refusal(text).hint.find("one by one"), std::string::npos) << text;
    Error error = refusal(text, PatternUse::kDeny);
    EXPECT_NE(error.hint.find("denied addresses"), std::string::npos) << text;
  }
}

TEST(HostPattern, OddSpellingsOfAddressesAreRefusedInRules) {
  EXPECT_EQ(refusal("010.0.0.1").hint, "write 8.0.0.1 if that is what is meant");
  for (const char* text : {"127.1", "0x7f.0.0.1", "2130706433:80", "10.1.2.3."}) refusal(text);
}

TEST(HostPattern, TheUnspecifiedAddressIsNoSpellingForEverything) {
  for (const char* text : {"0.0.0.0", "0.0.0.0:80", "[::]", "[::]:443", "0.1.2.3"}) {
    EXPECT_NE(refusal(text).hint.find("127.0.0.1"), std::string::npos) << text;
    pattern(text, PatternUse::kDeny);
  }
}

TEST(HostPattern, HostileTextsAreRefused) {
  for (std::string_view text :
       {std::string_view("a.com\0b", 7), std::string_view(""), std::string_view(" a.com"),
        std::string_view("a.com,b.com"), std::string_view("a.com:"), std::string_view(":80"),
        std::string_view("::1"), std::string_view("a.com:0"), std::string_view("a.com:70000"),
        std::string_view("user@a.com"), std::string_view("b\xc3\xbc.de"),
        std::string_view("[::1%lo]:80")})
    refusal(text);
}

}  // namespace
}  // namespace caisson

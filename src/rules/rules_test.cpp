#include "rules/rules.h"

#include "rules/host_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

Rules make(const RuleTexts& texts) {
  Result<Rules> rules = Rules::make(texts);
  EXPECT_TRUE(rules.ok()) << (rules ? "" : rules.error().what);
  return rules ? *rules : Rules{};
}

Host host(std::string_view text) {
  Result<Host> made = parse_host(text);
  EXPECT_TRUE(made.ok()) << text;
  return made ? *made : Host{};
}

bool connects(const Rules& rules, std::string_view name, uint16_t port = 443) {
  return rules.connect(host(name), port).allowed;
}

bool requests(const Rules& rules, std::string_view method, std::string_view path,
              std::string_view name = "api.github.com", uint16_t port = 443) {
  return rules.request(Scheme::kHttps, host(name), port, method, path).allowed;
}

// T46: an absent list and an empty one both mean nothing.
TEST(Rules, NothingSaidMeansNothingAllowed) {
  for (const Rules& rules : {Rules{}, make({})}) {
    for (const char* name : {"example.com", "localhost", "127.0.0.1", "[::1]", "1.1.1.1"}) {
      Verdict verdict = rules.connect(host(name), 443);
      EXPECT_FALSE(verdict.allowed) << name;
      EXPECT_EQ(verdict.rule, kDefaultRule);
      EXPECT_FALSE(rules.resolve(host(name)).allowed);
      EXPECT_FALSE(rules.request(Scheme::kHttps, host(name), 443, "GET", "/").allowed);
      EXPECT_FALSE(rules.resolved(host(name), 443, *parse_ip("1.1.1.1"), {}).allowed);
    }
  }
}

TEST(Rules, DenialsSayWhichFlagWouldAllow) {
  Rules rules = make({.allow = {"*.github.com", "db.example.com:5432"}});
  Verdict verdict = rules.connect(host("Example.com"), 443);
  EXPECT_EQ(verdict.how_to_allow, "--allow-domain example.com:443");
  EXPECT_EQ(verdict.reason, "no rule allows example.com:443");
  EXPECT_EQ(rules.connect(host("[::1]"), 80).how_to_allow, "--allow-domain '[::1]:80'");
  EXPECT_EQ(rules.resolve(host("example.com")).how_to_allow, "--allow-domain example.com");
  EXPECT_EQ(rules.connect(host("db.example.com"), 22).reason,
            "db.example.com is allowed, but not on port 22");
  EXPECT_EQ(rules.connect(host("github.com"), 443).reason,
            "no rule allows github.com:443; *.github.com does not include github.com itself");
}

TEST(Rules, NamesWildcardsAddressesAndPortsAllow) {
  Rules rules = make({.allow = {"api.github.com", "*.Example.com", "example.org:8443",
                                "10.1.2.3:5432", "[::1]:80", "localhost"}});
  EXPECT_TRUE(connects(rules, "API.github.com."));
  EXPECT_TRUE(connects(rules, "api.github.com", 22));
  EXPECT_EQ(rules.connect(host("api.github.com"), 22).rule, "api.github.com");
  EXPECT_TRUE(connects(rules, "a.b.example.com"));
  EXPECT_EQ(rules.connect(host("a.example.com"), 1).rule, "*.Example.com");
  EXPECT_TRUE(connects(rules, "example.org", 8443));
  EXPECT_TRUE(connects(rules, "10.1.2.3", 5432));
  EXPECT_TRUE(connects(rules, "[::1]", 80));
  EXPECT_TRUE(connects(rules, "localhost", 3000));

  EXPECT_FALSE(connects(rules, "github.com"));
  EXPECT_FALSE(connects(rules, "x.api.github.com"));
  EXPECT_FALSE(connects(rules, "example.com"));
  EXPECT_FALSE(connects(rules, "evilexample.com"));
  EXPECT_FALSE(connects(rules, "a.example.com.evil.org"));
  EXPECT_FALSE(connects(rules, "example.org", 443));
  EXPECT_FALSE(connects(rules, "10.1.2.3", 5433));
  EXPECT_FALSE(connects(rules, "10.1.2.4", 5432));
  EXPECT_FALSE(connects(rules, "[::1]", 81));
  EXPECT_FALSE(connects(rules, "127.0.0.1", 3000));
  EXPECT_FALSE(connects(rules, "api.github.com", 0));
}

// T45, T47: hostile spellings either don't parse or mean what they reach.
TEST(Rules, NoSpellingReachesWhatIsNotAllowed) {
  Rules rules = make({.allow = {"allowed.com", "*.allowed.com", "10.1.2.3"}});
  for (std::string_view text :
       {"127.1", "0x7f.1", "2130706433", "0177.1", "[::ffff:127.0.0.1]", "169.254.169.254",
        "0xa9fea9fe", "[::ffff:a9fe:a9fe]", "[64:ff9b::a01:203]", "[2002:a01:203::]", "10.1.2.4",
        "allowed.com.evil.org", "evilallowed.com", "allowed.community", "allowed", "com",
        "xn--allowed.com"}) {
    Result<Host> parsed = parse_host(text);
    EXPECT_FALSE(parsed.ok() && rules.connect(*parsed, 443).allowed) << text;
  }
  for (const char* text :
       {"10.1.515", "0x0a010203", "167838211", "[::ffff:10.1.2.3]", "[::10.1.2.3]"})
    EXPECT_TRUE(connects(rules, text)) << text;  // the control: other spellings of what is allowed
}

TEST(Rules, HostsThatWereNotMadeCanonicalAreRefused) {
  Rules rules = make({.allow = {"*.a.com"}, .deny = {"evil.a.com"}});
  EXPECT_TRUE(rules.connect(Host{"good.a.com", {}}, 443).allowed);
  for (const char* name : {"EVIL.a.com", "evil.a.com.", "x y.a.com", "", "..a.com"}) {
    EXPECT_FALSE(rules.connect(Host{name, {}}, 443).allowed) << name;
    EXPECT_FALSE(rules.resolve(Host{name, {}}).allowed) << name;
  }
}

TEST(Rules, ADenialWinsOverEveryAllowance) {
  Rules rules = make({.allow = {"*.a.com", "b.com", "c.com:443", "10.0.0.1", "[64:ff9b::a00:2]"},
                      .deny = {"evil.a.com", "*.bad.a.com", "b.com:22", "10.0.0.1:80", "10.0.0.2"},
                      .requests = {"GET https://evil.a.com/*"}});
  EXPECT_TRUE(connects(rules, "good.a.com"));
  EXPECT_FALSE(connects(rules, "evil.a.com"));
  EXPECT_TRUE(connects(rules, "x.evil.a.com"));
  EXPECT_TRUE(connects(rules, "bad.a.com"));
  EXPECT_FALSE(connects(rules, "x.bad.a.com"));
  EXPECT_FALSE(connects(rules, "b.com", 22));
  EXPECT_TRUE(connects(rules, "b.com", 23));
  EXPECT_FALSE(connects(rules, "10.0.0.1", 80));
  EXPECT_TRUE(connects(rules, "10.0.0.1", 81));
  EXPECT_FALSE(connects(rules, "[64:ff9b::a00:2]"));  // through NAT64 it is 10.0.0.2
  EXPECT_FALSE(requests(rules, "GET", "/", "evil.a.com"));
  Verdict verdict = rules.connect(host("evil.a.com"), 443);
  EXPECT_EQ(verdict.rule, "evil.a.com");
  EXPECT_EQ(verdict.reason, "evil.a.com:443 is denied by 'evil.a.com'");
}

TEST(Rules, EverythingCanBeDeniedButNotAllowed) {
  Rules rules = make({.allow = {"a.com", "10.0.0.1"}, .deny = {"*:22"}});
  EXPECT_FALSE(connects(rules, "a.com", 22));
  EXPECT_FALSE(connects(rules, "10.0.0.1", 22));
  EXPECT_TRUE(connects(rules, "a.com", 23));
  EXPECT_FALSE(connects(make({.allow = {"a.com"}, .deny = {"*"}}), "a.com"));
  for (const char* text : {"*", "*:443", "*.com", "0.0.0.0", "0.0.0.0/0", "[::]"})
    EXPECT_FALSE(Rules::make({.allow = {text}}).ok()) << text;
}

TEST(Rules, DeniedRangesAreReachedByNothing) {
  Rules rules = make({.allow = {"a.com", "10.9.9.9", "[fd00::5]", "[64:ff9b::a01:1]", "11.0.0.1"},
                      .denied_addresses = {"10.0.0.0/8", "fd00::/8", "192.0.2.7"}});
  for (const char* name : {"10.9.9.9", "[fd00::5]", "[64:ff9b::a01:1]"})
    EXPECT_FALSE(connects(rules, name)) << name;
  EXPECT_TRUE(connects(rules, "11.0.0.1"));
  for (const char* address :
       {"10.1.2.3", "fd12::1", "192.0.2.7", "64:ff9b::a00:1", "2002:a00:1::5"})
    EXPECT_FALSE(rules.resolved(host("a.com"), 443, *parse_ip(address), {}).allowed) << address;
  EXPECT_TRUE(rules.resolved(host("a.com"), 443, *parse_ip("192.0.2.8"), {}).allowed);
  Verdict verdict = rules.resolved(host("a.com"), 443, *parse_ip("10.1.2.3"), {});
  EXPECT_EQ(verdict.rule, "10.0.0.0/8");
}

TEST(Rules, ANameIsLookedUpWhenAnyPortOfItIsAllowed) {
  Rules rules = make({.allow = {"a.com:22", "b.com", "c.com:22", "*.d.com:5432", "e.com:22"},
                      .deny = {"b.com:22", "c.com:22", "x.d.com", "e.com:23"},
                      .requests = {"GET http://r.com/*"}});
  auto resolves = [&](const char* name) { return rules.resolve(host(name)).allowed; };
  for (const char* name : {"a.com", "b.com", "y.d.com", "r.com", "e.com"})
    EXPECT_TRUE(resolves(name)) << name;
  for (const char* name : {"c.com", "d.com", "x.d.com", "other.com", "www.a.com"})
    EXPECT_FALSE(resolves(name)) << name;
  EXPECT_EQ(rules.resolve(host("c.com")).rule, "c.com:22");
}

TEST(Resolved, RefusesPlacesThatNoNameShouldLeadTo) {
  Rules rules = make({.allow = {"a.com"}});
  auto reaches = [&](std::string_view address) {
    return rules.resolved(host("a.com"), 80, *parse_ip(address), {}).allowed;
  };
  for (const char* address : {"127.0.0.1",
                              "127.8.8.8",
                              "0.0.0.0",
                              "0.1.2.3",
                              "169.254.169.254",
                              "169.254.0.1",
                              "224.0.0.1",
                              "255.255.255.255",
                              "240.0.0.1",
                              "198.18.0.1",
                              "198.19.255.255",
                              "100.100.100.200",
                              "168.63.129.16",
                              "192.0.0.192",
                              "::",
                              "::1",
                              "::ffff:127.0.0.1",
                              "::127.0.0.1",
                              "fe80::1",
                              "ff02::1",
                              "fd00:ec2::254",
                              "fd63:6169:7373:6f6e::1",
                              "64:ff9b::7f00:1",
                              "2002:7f00:1::",
                              "64:ff9b::a9fe:a9fe",
                              "::ffff:0:127.0.0.1",
                              "64:ff9b:1::7f00:1",
                              "2001::1"})
    EXPECT_FALSE(reaches(address)) << address;
  for (const char* address : {"1.1.1.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1",
                              "fd12::1", "2606:4700::1111", "64:ff9b::101:101"})
    EXPECT_TRUE(reaches(address)) << address;
}

TEST(Resolved, SeesThroughBytesThatWereNotMadeCanonical) {
  Rules rules = make({.allow = {"a.com"}});
  IpAddress mapped{true, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
  EXPECT_FALSE(rules.resolved(host("a.com"), 80, mapped, {}).allowed);
}

TEST(Resolved, AnAddressThatIsAllowedItselfIsReachedByNameToo) {
  Rules rules = make({.allow = {"a.com", "127.0.0.1:8080", "[::1]"}});
  auto verdict = [&](std::string_view address, uint16_t port) {
    return rules.resolved(host("a.com"), port, *parse_ip(address), {});
  };
  EXPECT_TRUE(verdict("127.0.0.1", 8080).allowed);
  EXPECT_TRUE(verdict("::1", 1).allowed);
  EXPECT_FALSE(verdict("127.0.0.1", 8081).allowed);
  EXPECT_FALSE(verdict("127.0.0.2", 8080).allowed);
  EXPECT_FALSE(verdict("64:ff9b::7f00:1", 8080).allowed);
  EXPECT_EQ(verdict("127.0.0.1", 8081).how_to_allow, "--allow-domain 127.0.0.1:8081");
  EXPECT_EQ(verdict("127.0.0.1", 8081).reason,
            "127.0.0.1, which a.com resolved to, is a loopback address");
}

TEST(Resolved, OnlyLocalhostItselfMeansLoopback) {
  Rules rules = make({.allow = {"localhost:80", "a.localhost"}});
  auto reaches = [&](const char* name, const char* address, uint16_t port = 80) {
    std::vector<IpAddress> own = {*parse_ip("127.0.0.1"), *parse_ip("10.0.0.5")};
    return rules.resolved(host(name), port, *parse_ip(address), own).allowed;
  };
  EXPECT_TRUE(reaches("localhost", "127.0.0.1"));
  EXPECT_TRUE(reaches("localhost", "::1"));
  EXPECT_FALSE(reaches("localhost", "127.0.0.1", 81));
  EXPECT_FALSE(reaches("localhost", "169.254.169.254"));
  EXPECT_FALSE(reaches("localhost", "10.0.0.5"));
  EXPECT_FALSE(reaches("a.localhost", "127.0.0.1"));
}

TEST(Resolved, TheHostsOwnAddressesAreRefused) {
  Rules rules = make({.allow = {"a.com", "203.0.113.9:80"}});
  std::vector<IpAddress> own = {
      *parse_ip("192.168.1.5"), *parse_ip("203.0.113.9"),
      IpAddress{true, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}}};
  auto reaches = [&](const char* address, uint16_t port = 443) {
    return rules.resolved(host("a.com"), port, *parse_ip(address), own).allowed;
  };
  EXPECT_FALSE(reaches("192.168.1.5"));
  EXPECT_FALSE(reaches("64:ff9b::c0a8:105"));
  EXPECT_FALSE(reaches("10.0.0.1"));
  EXPECT_TRUE(reaches("192.168.1.6"));
  EXPECT_TRUE(reaches("203.0.113.9", 80));
  EXPECT_FALSE(reaches("203.0.113.9", 443));
}

TEST(Resolved, RulesOfRequestsDoNotNameAnAddress) {
  Rules rules = make({.allow = {"a.com"}, .requests = {"GET http://127.0.0.1:8080/public/*"}});
  EXPECT_TRUE(connects(rules, "127.0.0.1", 8080));
  EXPECT_FALSE(rules.resolved(host("a.com"), 8080, *parse_ip("127.0.0.1"), {}).allowed);
}

TEST(Resolved, IncludesTheVerdictOnTheName) {
  Rules rules = make({.allow = {"a.com:443", "10.1.2.3"}});
  EXPECT_FALSE(rules.resolved(host("a.com"), 80, *parse_ip("1.1.1.1"), {}).allowed);
  EXPECT_FALSE(rules.resolved(host("b.com"), 443, *parse_ip("1.1.1.1"), {}).allowed);
  EXPECT_TRUE(rules.resolved(host("10.1.2.3"), 443, *parse_ip("10.1.2.3"), {}).allowed);
  EXPECT_FALSE(rules.resolved(host("10.1.2.3"), 443, *parse_ip("10.1.2.4"), {}).allowed);
}

TEST(Requests, OnlyThoseThatARuleMatchesPass) {
  Rules rules = make(
      {.requests = {"GET,HEAD https://api.github.com/repos/*", "* https://api.github.com/gists"}});
  EXPECT_TRUE(requests(rules, "GET", "/repos/a/b?page=2"));
  EXPECT_TRUE(requests(rules, "HEAD", "/repos/"));
  EXPECT_TRUE(requests(rules, "DELETE", "/gists"));
  EXPECT_TRUE(requests(rules, "GET", "/%72epos/x"));
  EXPECT_FALSE(requests(rules, "POST", "/repos/a"));
  EXPECT_FALSE(requests(rules, "get", "/repos/a"));
  EXPECT_FALSE(requests(rules, "GET", "/repos"));
  EXPECT_FALSE(requests(rules, "GET", "/user"));
  EXPECT_FALSE(requests(rules, "GET", "/gists/1"));
  EXPECT_FALSE(requests(rules, "CONNECT", "/gists"));
  EXPECT_FALSE(
      rules.request(Scheme::kHttp, host("api.github.com"), 443, "GET", "/repos/a").allowed);
  for (const char* path :
       {"/repos/../user", "/repos/%2e%2e/user", "/repos/..%2fuser", "//repos/a", "/repos//a",
        "/repos/..;/user", "/repos\\..\\user", "/repos/%00", "repos/a"}) {
    Verdict verdict = rules.request(Scheme::kHttps, host("api.github.com"), 443, "GET", path);
    EXPECT_FALSE(verdict.allowed) << path;
    EXPECT_TRUE(verdict.reason.starts_with("the path ")) << verdict.reason;
  }
}

TEST(Requests, ARefusalSaysWhichRuleWouldAllow) {
  Rules rules = make({.requests = {"GET https://a.com/x", "GET http://a.com:8080/x"}});
  Verdict verdict = rules.request(Scheme::kHttps, host("a.com"), 443, "POST", "/y?token=secret");
  EXPECT_EQ(verdict.how_to_allow, "--allow-request 'POST https://a.com/y'");
  EXPECT_EQ(verdict.reason, "no request rule of a.com allows POST '/y'");
  verdict = rules.request(Scheme::kHttp, host("a.com"), 8080, "GET", "/y");
  EXPECT_EQ(verdict.how_to_allow, "--allow-request 'GET http://a.com:8080/y'");
  verdict = rules.request(Scheme::kHttps, host("a.com"), 443, "POST", "/*");
  EXPECT_EQ(verdict.how_to_allow, "");
  verdict = rules.request(Scheme::kHttps, host("a.com"), 443, "GET\x1b[2J", "/x");
  EXPECT_EQ(verdict.reason, "'GET\\x1b[2J' is no method");
}

TEST(Requests, ARuleAllowsConnectionsToItsHostAndPortAlone) {
  Rules rules = make({.requests = {"GET https://a.com/*", "GET http://*.b.com:8080/*"}});
  EXPECT_TRUE(connects(rules, "a.com", 443));
  EXPECT_FALSE(connects(rules, "a.com", 80));
  EXPECT_TRUE(connects(rules, "x.b.com", 8080));
  EXPECT_FALSE(connects(rules, "b.com", 8080));
  EXPECT_TRUE(rules.has_request_rules(host("a.com"), 443));
  EXPECT_TRUE(rules.has_request_rules(host("x.b.com"), 8080));
  EXPECT_FALSE(rules.has_request_rules(host("c.com"), 443));
}

TEST(Requests, AHostThatIsAlsoAllowedIsStillHeldToItsRules) {
  Rules rules = make({.allow = {"a.com", "a.com:22", "*.b.com", "c.com"},
                      .requests = {"GET https://a.com/ok", "GET https://x.b.com/ok"}});
  EXPECT_FALSE(requests(rules, "GET", "/other", "a.com"));
  EXPECT_TRUE(requests(rules, "GET", "/ok", "a.com"));
  EXPECT_FALSE(requests(rules, "GET", "/other", "x.b.com"));
  EXPECT_TRUE(requests(rules, "GET", "/other", "y.b.com"));
  EXPECT_TRUE(requests(rules, "DELETE", "/../x", "c.com"));
  // Port 80 isn't a way around the rules for 443, but a port that was named is open.
  EXPECT_TRUE(rules.has_request_rules(host("a.com"), 80));
  EXPECT_FALSE(rules.request(Scheme::kHttp, host("a.com"), 80, "GET", "/ok").allowed);
  EXPECT_FALSE(rules.has_request_rules(host("a.com"), 22));
  EXPECT_FALSE(rules.has_request_rules(host("y.b.com"), 443));
}

TEST(Requests, NamingThePortOfARuleDoesNotOpenIt) {
  Rules rules =
      make({.allow = {"a.com:443"}, .requests = {"GET https://*.a.com/x", "GET https://a.com/x"}});
  EXPECT_TRUE(rules.has_request_rules(host("a.com"), 443));
  EXPECT_FALSE(requests(rules, "GET", "/y", "a.com"));
}

TEST(Rules, ManyRulesGiveTheSameVerdicts) {
  RuleTexts texts;
  for (int i = 0; i < 10'000; ++i) {
    texts.allow.push_back(fmt::format("h{}.example.com", i));
    texts.allow.push_back(fmt::format("*.w{}.example.org", i));
    texts.allow.push_back(fmt::format("p.example.net:{}", i + 1));
    texts.deny.push_back(fmt::format("evil.w{}.example.org", i));
    texts.denied_addresses.push_back(fmt::format("20.{}.{}.0/24", i / 256, i % 256));
    texts.requests.push_back(fmt::format("GET https://r.example.com/{}/*", i));
  }
  Rules rules = make(texts);
  for (int i = 0; i < 10'000; i += 777) {
    EXPECT_TRUE(connects(rules, fmt::format("h{}.example.com", i)));
    EXPECT_TRUE(connects(rules, fmt::format("a.w{}.example.org", i)));
    EXPECT_FALSE(connects(rules, fmt::format("w{}.example.org", i)));
    EXPECT_FALSE(connects(rules, fmt::format("evil.w{}.example.org", i)));
    EXPECT_TRUE(connects(rules, "p.example.net", static_cast<uint16_t>(i + 1)));
    EXPECT_TRUE(requests(rules, "GET", fmt::format("/{}/x", i), "r.example.com"));
    EXPECT_FALSE(requests(rules, "GET", fmt::format("/{}x", i), "r.example.com"));
    IpAddress inside =
        IpAddress::v4({20, static_cast<uint8_t>(i / 256), static_cast<uint8_t>(i), 9});
    EXPECT_FALSE(rules.resolved(host("h1.example.com"), 443, inside, {}).allowed);
  }
  EXPECT_FALSE(connects(rules, "h10000.example.com"));
  EXPECT_FALSE(connects(rules, "p.example.net", 10'001));
  EXPECT_TRUE(rules.resolved(host("h1.example.com"), 443, *parse_ip("20.200.0.1"), {}).allowed);
}

TEST(Rules, AreAValueThatCanBeRemade) {
  Rules rules = make({.allow = {"a.com"}});
  Rules before = rules;
  rules = make({.allow = {"b.com"}});
  EXPECT_TRUE(connects(rules, "b.com"));
  EXPECT_FALSE(connects(rules, "a.com"));
  EXPECT_TRUE(connects(before, "a.com"));
}

TEST(Rules, OneBadTextSpoilsTheWholeSet) {
  EXPECT_FALSE(Rules::make({.allow = {"a.com", "https://b.com"}}).ok());
  EXPECT_FALSE(Rules::make({.deny = {"a.com", ""}}).ok());
  EXPECT_FALSE(Rules::make({.requests = {"GET a.com"}}).ok());
  EXPECT_FALSE(Rules::make({.denied_addresses = {"10.0.0.1/8"}}).ok());
  EXPECT_FALSE(Rules::make({.allow = std::vector<std::string>(kMaxRules + 1, "a.com")}).ok());
  EXPECT_FALSE(Rules::make({.requests = {"GET https://a.com/" + std::string(5000, 'a')}}).ok());
}

TEST(Rules, ReasonThatWasGivenIsWhatIsTold) {
  Rules rules = make({.allow = {"*.a.com"},
                      .deny = {"x.a.com", "*:22", "y.a.com"},
                      .deny_reasons = {{"x.a.com", "ask the team"}, {"*:22", "no ssh"}}});
  Verdict named = rules.connect(host("x.a.com"), 443), port = rules.connect(host("z.a.com"), 22);
  EXPECT_EQ(named.reason, "ask the team");
  EXPECT_TRUE(named.reason_given);
  EXPECT_EQ(port.reason, "no ssh");
  EXPECT_FALSE(rules.connect(host("y.a.com"), 443).reason_given);
  EXPECT_FALSE(Rules::make({.deny = {"x.a.com"}, .deny_reasons = {{"y.a.com", "why"}}}).ok());
  EXPECT_FALSE(
      Rules::make({.deny = {"a.com"}, .deny_reasons = {{"a.com", std::string(9999, 'x')}}}).ok());
}

TEST(HostSet, CoversByPatternAndPort) {
  Result<HostSet> set = HostSet::make({"*.a.com", "b.com:8443", "10.1.2.3"});
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE(set->covers(host("x.a.com"), 1));
  EXPECT_FALSE(set->covers(host("a.com"), 443));
  EXPECT_TRUE(set->covers(host("b.com"), 8443));
  EXPECT_FALSE(set->covers(host("b.com"), 443));
  EXPECT_TRUE(set->covers(host("10.1.2.3"), 5432));
  EXPECT_FALSE(HostSet::make({"*"}).ok());
  EXPECT_FALSE(HostSet().covers(host("a.com"), 1)) << "empty";
}

}  // namespace
}  // namespace caisson

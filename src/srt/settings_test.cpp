#include "srt/settings.h"

#include <gtest/gtest.h>

#include <set>

#include "srt/keys.h"

namespace caisson::srt {
namespace {

constexpr const char* kLeast = R"({"network":{"allowedDomains":[],"deniedDomains":[]},)"
                               R"("filesystem":{"denyRead":[],"allowWrite":[],"denyWrite":[]})";

std::string with(const std::string& more) { return std::string(kLeast) + "," + more + "}"; }
std::string network(const std::string& more) {
  return R"({"network":{"allowedDomains":["example.com","*.a.example"],"deniedDomains":[],)" +
         more + R"(},"filesystem":{"denyRead":[],"allowWrite":[],"denyWrite":[]}})";
}
std::string files(const std::string& more) {
  return R"({"network":{"allowedDomains":[],"deniedDomains":[]},)"
         R"("filesystem":{"denyRead":[],"allowWrite":[],"denyWrite":[],)" +
         more + "}}";
}

std::string first_problem(const std::string& text, Unknown unknown = Unknown::kError) {
  Result<Reading> reading = read_settings(text, "s.json", unknown);
  if (!reading) return reading.error().what;
  if (reading->problems.empty()) return "none";
  return problem_text(reading->problems[0], "s.json") + " | " + reading->problems[0].hint;
}

TEST(SrtSettings, TheLeastThatSrtTakesIsTaken) {
  EXPECT_EQ(first_problem(std::string(kLeast) + "}"), "none");
}

TEST(SrtSettings, EachRequiredKeyIsMissed) {
  EXPECT_EQ(first_problem("{}"), "s.json:1: \"network\" is missing | it is required: an object");
  EXPECT_NE(first_problem(R"({"network":{"deniedDomains":[]},"filesystem":{}})")
                .find("network: \"allowedDomains\" is missing"),
            std::string::npos);
}

TEST(SrtSettings, AnUnknownKeyIsAnErrorWithItsLineAndASuggestion) {
  EXPECT_EQ(first_problem("{\"network\":{\"allowedDomains\":[],\n\"deniedDomians\":[],"
                          "\"deniedDomains\":[]},\n\"filesystem\":{\"denyRead\":[],"
                          "\"allowWrite\":[],\"denyWrite\":[]}}"),
            "s.json:2: network: unknown key \"deniedDomians\" | did you mean \"deniedDomains\"?");
}

TEST(SrtSettings, AKeyInTheWrongSectionIsToldWhereItBelongs) {
  EXPECT_NE(first_problem(with(R"("denyRead":[])")).find("stands in \"filesystem\""),
            std::string::npos);
}

TEST(SrtSettings, LenientPassesOverUnknownKeysButNotThoseThatSrtRefuses) {
  EXPECT_EQ(first_problem(with(R"("xyz":true)"), Unknown::kLenient), "none");
  EXPECT_NE(first_problem(with(R"("credentials":{"xyz":[]})"), Unknown::kLenient), "none");
  EXPECT_NE(first_problem(with(R"("credentials":{"sigv4":{"x":"deny"}})"), Unknown::kLenient),
            "none");
  EXPECT_NE(first_problem(files(R"("allowRead":[{"path":"/a","literal":true,"x":1}])"),
                          Unknown::kLenient),
            "none");
}

TEST(SrtSettings, WhatIsNoJsonIsToldWithItsLine) {
  EXPECT_EQ(first_problem("{\n\n,}"), "s.json:3: not JSON: syntax error");
  EXPECT_EQ(first_problem("{\"a\":1,\n\"a\":2}"), "s.json:2: the key \"a\" is there twice");
  EXPECT_EQ(first_problem("{\"a\":"), "s.json:1: the file ends too early");
  EXPECT_EQ(first_problem("  "), "s.json: the file is empty");
  EXPECT_NE(first_problem("// no\n{}").find("not JSON"), std::string::npos);
  EXPECT_NE(first_problem(std::string(1000, '[')).find("not JSON"), std::string::npos);
  EXPECT_EQ(first_problem("[]"), "s.json:1: settings are an object, not an array | ");
}

TEST(SrtSettings, DomainsAreThoseThatSrtTakes) {
  for (const char* good : {"example.com", "*.example.com", "localhost", "10.1.2.3", "[::1]",
                           "example.com:8443", "localhost:3000"})
    EXPECT_EQ(first_problem(R"({"network":{"allowedDomains":[")" + std::string(good) +
                            R"("],"deniedDomains":[]},"filesystem":{"denyRead":[],)"
                            R"("allowWrite":[],"denyWrite":[]}})"),
              "none")
        << good;
  for (const char* bad : {"*", "*.com", "https://example.com", "example.com/path", "intranet", "",
                          "example.com:0", "example.com:70000"})
    EXPECT_NE(first_problem(R"({"network":{"allowedDomains":[")" + std::string(bad) +
                            R"("],"deniedDomains":[]},"filesystem":{"denyRead":[],)"
                            R"("allowWrite":[],"denyWrite":[]}})"),
              "none")
        << bad;
}

TEST(SrtSettings, NumbersAreWholeAndWithinTheirBounds) {
  EXPECT_EQ(first_problem(with(R"("mandatoryDenySearchDepth":10)")), "none");
  for (const char* bad : {"0", "11", "1.5", "-1", "\"3\"", "1e1", "99999999999"})
    EXPECT_NE(first_problem(with(R"("mandatoryDenySearchDepth":)" + std::string(bad))), "none")
        << bad;
}

TEST(SrtSettings, AWrongTypeNamesWhatIsExpected) {
  EXPECT_EQ(first_problem(files(R"("allowGitConfig":"yes")")),
            "s.json:1: filesystem.allowGitConfig: must be true or false, not a string | ");
  EXPECT_EQ(first_problem(files(R"("readMode":"none")")),
            "s.json:1: filesystem.readMode: must be one of \"denylist\", \"allowlist\", not "
            "\"none\" | ");
}

TEST(SrtSettings, KeysThatNeedOrExcludeOneAnother) {
  EXPECT_NE(first_problem(network(R"("tlsTerminate":{"caCertPath":"/a"})")), "none");
  EXPECT_NE(first_problem(network(
                R"("tlsTerminate":{},"mitmProxy":{"socketPath":"/s","domains":["a.example"]})")),
            "none");
  EXPECT_NE(first_problem(network(R"("deniedDomainReasons":{"x.example":"no"})")), "none");
  EXPECT_NE(first_problem(with(R"("credentials":{"envVars":[{"name":"A","mode":"mask"}]})")),
            "none");
  EXPECT_EQ(first_problem(with(R"("credentials":{"envVars":[{"name":"A","mode":"deny"}]})")),
            "none");
  EXPECT_NE(first_problem(with(R"("credentials":{"envVars":[{"name":"1A","mode":"deny"}]})")),
            "none");
}

TEST(SrtSettings, ADenyPatternThatEndsInASlashIsRefused) {
  std::string text = R"({"network":{"allowedDomains":[],"deniedDomains":[]},)"
                     R"("filesystem":{"denyRead":["/a/*/"],"allowWrite":[],"denyWrite":[]}})";
  EXPECT_NE(first_problem(text).find("ends in /"), std::string::npos);
}

TEST(SrtSettings, InjectHostsMustBeAllowed) {
  auto masks = [](const char* host) {
    return R"({"network":{"allowedDomains":["api.example.com","*.b.example"],)"
           R"("deniedDomains":[],"tlsTerminate":{}},"filesystem":{"denyRead":[],)"
           R"("allowWrite":[],"denyWrite":[]},"credentials":{"envVars":)"
           R"([{"name":"K","mode":"mask","injectHosts":[")" +
           std::string(host) + R"("]}]}})";
  };
  EXPECT_EQ(first_problem(masks("api.example.com")), "none");
  EXPECT_EQ(first_problem(masks("x.b.example")), "none");
  EXPECT_NE(first_problem(masks("b.example")), "none");
  EXPECT_NE(first_problem(masks("evil.example")), "none");
}

TEST(SrtSettings, KeysWithoutMeaningHereAreRemarked) {
  Result<Reading> reading =
      read_settings(with(R"("allowPty":true,"windows":{"backend":"mxc"},"bwrapPath":"/x")"),
                    "s.json", Unknown::kError);
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->remarks.size(), 3u);
  EXPECT_EQ(reading->remarks[0].text, "macOS only: a terminal always works");
  EXPECT_EQ(reading->remarks[1].text, "Windows only");
}

TEST(SrtSettings, AllProblemsAreTold) {
  Result<Reading> reading =
      read_settings(with(R"("a":1,"b":2,"allowPty":3)"), "s.json", Unknown::kError);
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->problems.size(), 3u);
  EXPECT_NE(usable(*reading, "s.json").error().what.find("and 2 more"), std::string::npos);
}

TEST(SrtKeys, EveryKeyHasATestAndAParent) {
  std::set<std::string_view> seen;
  for (const Key& key : keys()) {
    EXPECT_TRUE(seen.insert(key.path).second) << key.path;
    EXPECT_TRUE(key.test.starts_with("test_")) << key.path;
    size_t dot = key.path.rfind('.');
    if (dot == std::string_view::npos) continue;
    std::string_view parent = key.path.substr(0, dot);
    if (parent.ends_with("[]")) parent.remove_suffix(2);
    EXPECT_TRUE(find_key(parent)) << key.path;
  }
}

}  // namespace
}  // namespace caisson::srt

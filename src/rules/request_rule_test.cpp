#include "rules/request_rule.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

using namespace std::literals;

std::string path_of(std::string_view target) {
  Result<RequestPath> path = canonical_path(target);
  if (!path) return "refused: " + path.error().what;
  return path->has_query ? path->path + "?" + path->query : path->path;
}

TEST(RequestPath, HasOneSpelling) {
  EXPECT_EQ(path_of("/"), "/");
  EXPECT_EQ(path_of("/repos/a/b"), "/repos/a/b");
  EXPECT_EQ(path_of("/r%65pos/%7Euser"), "/repos/~user");
  EXPECT_EQ(path_of("/a%2bb%c3%bc"), "/a%2Bb%C3%BC");
  EXPECT_EQ(path_of("/dir/"), "/dir/");
  EXPECT_EQ(path_of("/a?x=%41&y=/../b"), "/a?x=A&y=/../b");
  EXPECT_EQ(path_of("/a?"), "/a?");
  EXPECT_EQ(path_of("/.well-known/..x/a..b/..."), "/.well-known/..x/a..b/...");
  EXPECT_EQ(path_of("/100%25"), "/100%25");
  EXPECT_EQ(path_of("/100%25/x"), "/100%25/x");
  EXPECT_EQ(path_of("/a;v=1/b"), "/a;v=1/b");
}

TEST(RequestPath, WhatServersReadDifferentlyIsRefused) {
  for (std::string_view target : {""sv,
                                  "a"sv,
                                  "*"sv,
                                  "?x"sv,
                                  "http://evil.com/"sv,
                                  "//"sv,
                                  "//evil.com/x"sv,
                                  "/a//b"sv,
                                  "/."sv,
                                  "/.."sv,
                                  "/a/../b"sv,
                                  "/a/./b"sv,
                                  "/a/.."sv,
                                  "/a/%2e%2e/b"sv,
                                  "/a/.%2E/b"sv,
                                  "/a/%2e"sv,
                                  "/a/..;/b"sv,
                                  "/a/..;x=1/b"sv,
                                  "/a/..%3b/b"sv,
                                  "/a/..%20/b"sv,
                                  "/a%2fb"sv,
                                  "/a%2Fb"sv,
                                  "/a%5cb"sv,
                                  "/a\\b"sv,
                                  "/a%5C..%5Cb"sv,
                                  "/a%00"sv,
                                  "/a\0b"sv,
                                  "/a%0d%0ab"sv,
                                  "/a%7f"sv,
                                  "/a b"sv,
                                  "/a\r\nb"sv,
                                  "/a\tb"sv,
                                  "/a#b"sv,
                                  "/a%"sv,
                                  "/a%2"sv,
                                  "/a%zz"sv,
                                  "/a%252e%252e/b"sv,
                                  "/a%252fb"sv,
                                  "/a%25%32%65"sv,
                                  "/%c0%af"sv,
                                  "/%c0%ae%c0%ae/"sv,
                                  "/%ff"sv,
                                  "/\xc3\xbc"sv,
                                  "/a?b c"sv,
                                  "/a?b#c"sv,
                                  "/a?%zz"sv,
                                  "/a?\x01"sv})
    EXPECT_TRUE(path_of(target).starts_with("refused: "))
        << target << " became " << path_of(target);
  EXPECT_TRUE(path_of("/" + std::string(20000, 'a')).starts_with("refused: "));
}

TEST(Glob, StarsMatchAnyRunAndTheRestItself) {
  for (auto [glob, text] : {std::pair{"/a", "/a"},
                            {"/*", "/"},
                            {"/*", "/a/b"},
                            {"*", ""},
                            {"/a/*/c", "/a/b/b/c"},
                            {"/*.git/*", "/x.git.git/y"},
                            {"/a*a", "/aa"},
                            {"/a**b", "/ab"},
                            {"/*ab", "/aab"},
                            {"/a?c", "/a?c"}})
    EXPECT_TRUE(glob_matches(glob, text)) << glob << " " << text;
  for (auto [glob, text] : {std::pair{"/a", "/ab"},
                            {"/a", "/A"},
                            {"/a/*", "/a"},
                            {"/a*a", "/a"},
                            {"/*.git/*", "/xgit/y"},
                            {"/a?c", "/abc"},
                            {"", "/"},
                            {"/*b*c", "/acb"},
                            {"/a/*/c", "/a/c"},
                            {"/*ab*ab", "/xabx"}})
    EXPECT_FALSE(glob_matches(glob, text)) << glob << " " << text;
}

TEST(RequestRule, IsMethodsAndAUrl) {
  Result<RequestRule> rule = parse_request_rule("GET,HEAD https://api.github.com/repos/*");
  ASSERT_TRUE(rule.ok());
  EXPECT_EQ(rule->methods, (std::vector<std::string>{"GET", "HEAD"}));
  EXPECT_EQ(rule->scheme, Scheme::kHttps);
  EXPECT_EQ(rule->host.text(), "api.github.com:443");
  EXPECT_EQ(rule->glob.path, "/repos/*");
  EXPECT_FALSE(rule->glob.has_query);

  rule = parse_request_rule("* http://*.Example.com:8080/a%2Db?x=*");
  ASSERT_TRUE(rule.ok());
  EXPECT_TRUE(rule->methods.empty());
  EXPECT_EQ(rule->scheme, Scheme::kHttp);
  EXPECT_EQ(rule->host.text(), "*.example.com:8080");
  EXPECT_EQ(rule->glob.path, "/a-b");
  EXPECT_EQ(rule->glob.query, "x=*");
  EXPECT_EQ(parse_request_rule("PUT http://[::1]/x")->host.text(), "[::1]:80");
}

TEST(RequestRule, TextsThatAreNoneAreRefusedWithAHint) {
  for (std::string_view text : {""sv,
                                "GET"sv,
                                "https://a.com/"sv,
                                "get https://a.com/"sv,
                                "GET, HEAD https://a.com/"sv,
                                "GET,,HEAD https://a.com/"sv,
                                ",GET https://a.com/"sv,
                                "*,GET https://a.com/"sv,
                                "CONNECT https://a.com/"sv,
                                "GET a.com/"sv,
                                "GET ftp://a.com/"sv,
                                "GET wss://a.com/"sv,
                                "GET https://a.com"sv,
                                "GET https://a.com?x"sv,
                                "GET https:///x"sv,
                                "GET https://*/x"sv,
                                "GET https://*.com/x"sv,
                                "GET https://user@a.com/x"sv,
                                "GET https://a.com:0/x"sv,
                                "GET https://a.com/../x"sv,
                                "GET https://a.com//x"sv,
                                "GET https://a.com/a b"sv,
                                "GET https://a.com/%2f"sv,
                                "GET https://a.com/x#y"sv,
                                "GET https://10.0.0.0/8/x y"sv,
                                "G\0T https://a.com/"sv,
                                "GET HTTPS://a.com/"sv}) {
    Result<RequestRule> rule = parse_request_rule(text);
    ASSERT_FALSE(rule.ok()) << text;
    EXPECT_FALSE(rule.error().hint.empty()) << text;
  }
}

TEST(RequestRule, EveryMethodIsNotATunnel) {
  RequestRule rule = *parse_request_rule("* https://a.com/*");
  EXPECT_TRUE(rule.matches_method("PROPFIND"));
  EXPECT_FALSE(rule.matches_method("CONNECT"));
  EXPECT_FALSE(rule.matches_method(""));
  EXPECT_FALSE(rule.matches_method("GET "));
}

TEST(RequestRule, TheQueryCountsOnlyWhenTheRuleHasOne) {
  RequestRule without = *parse_request_rule("GET https://a.com/s");
  RequestRule with = *parse_request_rule("GET https://a.com/s?q=*");
  EXPECT_TRUE(without.matches_path(*canonical_path("/s?q=1")));
  EXPECT_TRUE(with.matches_path(*canonical_path("/s?q=1")));
  EXPECT_FALSE(with.matches_path(*canonical_path("/s?p=1")));
  EXPECT_FALSE(with.matches_path(*canonical_path("/s")));
  RequestRule star = *parse_request_rule("GET https://a.com/*?q=1");
  EXPECT_FALSE(star.matches_path(*canonical_path("/x?evil=1?q=1")));
}

}  // namespace
}  // namespace caisson

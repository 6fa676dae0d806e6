#include "rules/extract.h"

#include <gtest/gtest.h>

#include <string>

namespace caisson {
namespace {

std::string found(std::string_view pattern, std::string_view text) {
  Result<Extractor> made = Extractor::make(pattern);
  if (!made.ok()) return "error: " + made.error().what;
  std::optional<Extract> part = made->find(text);
  return part ? std::string(text.substr(part->begin, part->end - part->begin)) : "none";
}

bool is_no_extract(std::string_view pattern) { return !Extractor::make(pattern).ok(); }

TEST(Extract, GroupOneIsWhatIsFound) {
  EXPECT_EQ(found("token = \"([^\"]+)\"", "a = 1\ntoken = \"abc def\"\n"), "abc def");
  EXPECT_EQ(found("key:\\s*(\\S+)", "key:   sk-123\nkey: other"), "sk-123");
  EXPECT_EQ(found("(?:password|passwd)=(\\w+)", "user=me passwd=hunter2;"), "hunter2");
  EXPECT_EQ(found("(?<secret>sk-[A-Za-z0-9_-]{4,8})", "x sk-abcdEFGHijkl"), "sk-abcdEFGH");
  EXPECT_EQ(found("a(b)?c", "ac abc"), "b");  // a match without the group is none
  EXPECT_EQ(found("x(y)", "nothing"), "none");
}

TEST(Extract, GreedyAndLazyRepetitionsAreHeld) {
  EXPECT_EQ(found("<(.*)>", "<a><b>"), "a><b");
  EXPECT_EQ(found("<(.*?)>", "<a><b>"), "a");
  EXPECT_EQ(found("(a{2,3}?)", "aaaa"), "aa");
  EXPECT_EQ(found("(a{2,})b", "ab aaab"), "aaa");
  EXPECT_EQ(found("(a{3})", "aa aaa"), "aaa");
  EXPECT_EQ(found("((?:ab)+)", "xababx"), "abab");
  EXPECT_EQ(found("(cat|category)", "category"),
            "cat");  // the first alternative, as JavaScript has it
}

TEST(Extract, PlacesAreHeld) {
  EXPECT_EQ(found("^(a)$", "a"), "a");
  EXPECT_EQ(found("^(a)$", "ba"), "none");
  EXPECT_EQ(found("\\b(key)\\b", "monkey key"), "key");
  EXPECT_EQ(found("(k\\By)", "ky"), "ky");
}

TEST(Extract, ClassesAndEscapesAreRead) {
  EXPECT_EQ(found("([\\w.-]+)@", "--me.x@"), "--me.x");
  EXPECT_EQ(found("([^\\s,]+),", "a b,c"), "b");
  EXPECT_EQ(found("(\\x41\\u0042\\/)", "xAB/"), "AB/");
  EXPECT_EQ(found("([\\]a-c]+)", "x]ab-"), "]ab");
  EXPECT_EQ(found("(\\u00e9)", "caf\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(found("(a{b)", "a{b"), "a{b");  // a brace that counts nothing
}

TEST(Extract, WhatIsNotKnownIsRefused) {
  for (const char* pattern : {"abc", "(?=a)(b)", "(?<=a)(b)", "(a)\\1", "(a", "a)", "([a", "*(a)",
                              "(\\p{L})", "(a{2,1})", "(a{5000})", "(a\\", "(^*)", "(?i)(a)"})
    EXPECT_TRUE(is_no_extract(pattern)) << pattern;
  EXPECT_TRUE(is_no_extract(std::string(2000, 'a') + "(b)"));
  EXPECT_TRUE(is_no_extract("((a{1000}){1000})"));
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "(";
  EXPECT_TRUE(is_no_extract(deep));
}

TEST(Extract, NestedRepetitionsTakeNoLongerThanTheirText) {
  std::string text(20000, 'a');
  EXPECT_EQ(found("((?:a*)*)*b", text), "none");  // a backtracking engine would never come back
  EXPECT_EQ(found("((?:a|a|a)*)c", text), "none");
}

TEST(Extract, NextOneIsLookedForBehindTheLast) {
  Result<Extractor> made = Extractor::make("k=(\\d+)");
  ASSERT_TRUE(made.ok());
  std::string_view text = "k=1 k=22 k=333";
  std::string all;
  for (auto part = made->find(text); part; part = made->find(text, part->match_end))
    all += std::string(text.substr(part->begin, part->end - part->begin)) + ",";
  EXPECT_EQ(all, "1,22,333,");
}

}  // namespace
}  // namespace caisson

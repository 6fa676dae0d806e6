#include "session/load_pattern.h"

#include <gtest/gtest.h>

namespace caisson::session {
namespace {

TEST(LoadPattern, MatchesAsAShellDoes) {
  struct {
    const char *pattern, *name;
    bool matches;
  } cases[] = {
      {"*", "a", true},           {"*", "", true},          {"*", ".a", false},
      {".*", ".a", true},         {"?", ".", false},        {"*.csv", "x.csv", true},
      {"*.csv", "x.csv2", false}, {"a?c", "abc", true},     {"a?c", "ac", false},
      {"[ab]x", "bx", true},      {"[!ab]x", "bx", false},  {"[^ab]x", "cx", true},
      {"[a-c]", "b", true},       {"[a-c]", "d", false},    {"[]a]", "]", true},
      {"[a", "[a", true},         {"[a]", "A", false},      {"\\*", "*", true},
      {"\\*", "x", false},        {"a*b*c", "aXbYc", true}, {"a*b*c", "aXbY", false},
      {"**", "ab", true},         {"x[-a]", "x-", true},    {"[0-9]*.txt", "7up.txt", true},
      {"[.]a", ".a", false},
  };
  for (const auto& one : cases)
    EXPECT_EQ(matches_part(one.pattern, one.name), one.matches) << one.pattern << " " << one.name;
}

TEST(LoadPattern, NoPatternTakesLong) {
  std::string pattern, name(255, 'a');
  for (int i = 0; i < 1000; ++i) pattern += "*a";
  pattern += "b";
  EXPECT_FALSE(matches_part(pattern, name));  // 2^255 ways, for one that tries them all
}

TEST(LoadPattern, PartsArePlainOrWild) {
  using Parts = std::vector<PatternPart>;
  EXPECT_EQ(*pattern_parts("/a//./b*/\\*c/.."),
            (Parts{{"a", false}, {"b*", true}, {"*c", false}, {"..", false}}));
  EXPECT_TRUE(has_wildcard("/a/b[c"));
  EXPECT_FALSE(has_wildcard("/a/\\*"));
}

TEST(LoadPattern, PartsAreBounded) {
  std::string path;
  for (int i = 0; i < 65; ++i) path += "/x";
  EXPECT_FALSE(pattern_parts(path).ok());
  EXPECT_TRUE(pattern_parts(path.substr(2)).ok());
}

TEST(LoadPattern, WhatIsPlainIsPutTogether) {
  PatternWay way = way_of(*pattern_parts("/a/b/*.csv/?/c/d"));
  EXPECT_EQ(way.steps, (std::vector<PatternStep>{{"/a/b", "*.csv"}, {"", "?"}}));
  EXPECT_EQ(way.tail, "/c/d");
}

}  // namespace
}  // namespace caisson::session

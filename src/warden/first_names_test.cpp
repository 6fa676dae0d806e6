#include "warden/first_names.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "warden/match.h"

namespace caisson::warden {

namespace {

// Patterns, as launch/compile_warden.cpp makes them, and their first names.
struct Rulebook {
  std::deque<std::string> texts;
  std::deque<std::vector<Part>> parts;
  std::deque<Pattern> patterns;
  FirstNames names;

  void add(const std::string& head, const std::vector<std::string>& words,
           Letters letters = Letters::kAnyCase) {
    std::vector<Part>& made = parts.emplace_back();
    for (const std::string& word : words) {
      const std::string& kept = texts.emplace_back(word);
      made.push_back({kept.c_str(), static_cast<uint16_t>(kept.size()),
                      word == "**"                                     ? Part::kAnyDepth
                      : word.find_first_of("*?[") == std::string::npos ? Part::kLiteral
                                                                       : Part::kGlob});
    }
    const std::string& kept = texts.emplace_back(head);
    patterns.push_back({.head = kept.c_str(),
                        .head_size = static_cast<uint32_t>(kept.size()),
                        .parts = made.data(),
                        .count = static_cast<uint32_t>(made.size()),
                        .only_in_older_folder = false,
                        .first = 1,
                        .itself_only = false,
                        .new_file_only = false,
                        .letters = letters});
    names.add(patterns.back());
  }
  bool may_be_in(const std::string& path) const {
    return names.may_be_in(path.c_str(), static_cast<uint32_t>(path.size()));
  }
};

}  // namespace

TEST(WardenFirstNames, APathWithoutOneIsExcluded) {
  Rulebook rules;
  rules.add("/p", {"**", ".git", "hooks"});
  rules.add("/p", {"**", "*.key"});
  EXPECT_FALSE(rules.may_be_in("/p/src/main.c"));
  EXPECT_FALSE(rules.may_be_in("/"));
  EXPECT_FALSE(rules.may_be_in("/p/hooks"));
  EXPECT_TRUE(rules.may_be_in("/p/x/.git"));
  EXPECT_TRUE(rules.may_be_in("/p/x/.git/hooks/y"));
  EXPECT_TRUE(rules.may_be_in("/p/x/.GIT/z"));
  EXPECT_TRUE(rules.may_be_in("/p/my.key"));
  EXPECT_TRUE(rules.may_be_in("/p/MY.KEY/x"));
}

TEST(WardenFirstNames, PatternsWithoutDepthDoNotCount) {
  Rulebook rules;
  rules.add("/p/a", {});
  rules.add("/p", {"*", "b"});
  EXPECT_FALSE(rules.may_be_in("/p/a/b"));
  for (const Pattern& one : rules.patterns) EXPECT_FALSE(needs_first_name(one, 100));
}

TEST(WardenFirstNames, WhatDoesNotFitIsAlwaysAsked) {
  Rulebook rules;
  for (uint32_t i = 0; i < FirstNames::kMostGlobs; ++i)
    for (int twice = 0; twice < 2; ++twice)
      rules.add("/p", {"**", "*.part" + std::to_string(i), "x"});
  EXPECT_FALSE(rules.may_be_in("/p/src/main.c"));
  rules.add("/p", {"**", "*.one-more"});
  EXPECT_TRUE(rules.may_be_in("/p/src/main.c"));
}

// What is excluded is nothing to any pattern: over many paths that are made of the same few words.
TEST(WardenFirstNames, WhatIsExcludedNoPatternMeans) {
  const std::vector<std::string> words = {"p",    "q",  ".git", ".GIT", "hooks", "a.git",
                                          "HEAD", "hd", "**",   "*",    "*.git", "[!a]",
                                          "?",    "A",  "a",    ".g?t", "ä"};
  std::mt19937 random(1);
  auto pick = [&](size_t limit) { return random() % limit; };
  unsigned excluded = 0, meant = 0;
  for (int round = 0; round < 3000; ++round) {
    Rulebook rules;
    for (size_t i = 0; i <= pick(4); ++i) {
      std::vector<std::string> parts;
      if (pick(4)) parts.push_back("**");
      for (size_t n = 1 + pick(3); n > 0; --n) parts.push_back(words[pick(words.size())]);
      rules.add(pick(3)   ? "/p"
                : pick(2) ? "/p/q"
                          : "",
                parts, pick(2) ? Letters::kAnyCase : Letters::kExact);
    }
    for (int paths = 0; paths < 30; ++paths) {
      std::string path;
      for (size_t n = 1 + pick(5); n > 0; --n) path += "/" + words[pick(words.size())];
      if (pick(20) == 0) path = "/";
      auto size = static_cast<uint32_t>(path.size());
      bool may_be = rules.may_be_in(path);
      for (const Pattern& one : rules.patterns) {
        Match found = match(one, path.c_str(), size);
        if (found.hit || found.ancestor) {
          ++meant;
          EXPECT_TRUE(may_be || !needs_first_name(one, size)) << path;
        } else {
          excluded += !may_be && needs_first_name(one, size);
        }
      }
    }
  }
  EXPECT_GT(excluded, 1000u);
  EXPECT_GT(meant, 1000u);
}

}  // namespace caisson::warden

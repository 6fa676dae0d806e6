#include "gateway/secret_patterns.h"

#include <gtest/gtest.h>

#include <random>

#include "gateway/secret_stream.h"

namespace caisson {
namespace {

using namespace std::string_literals;

// What a person would do by hand: at each place the longest pattern that stands there.
std::string by_hand(std::string_view text, const std::vector<std::string>& patterns) {
  std::string out;
  while (!text.empty()) {
    size_t best = patterns.size();
    for (size_t i = 0; i < patterns.size(); ++i)
      if (text.starts_with(patterns[i]) &&
          (best == patterns.size() || patterns[i].size() > patterns[best].size()))
        best = i;
    size_t size = best == patterns.size() ? 1 : patterns[best].size();
    out += best == patterns.size() ? std::string(text.substr(0, 1)) : "<" + patterns[best] + ">";
    text.remove_prefix(size);
  }
  return out;
}

std::string streamed(const PatternSet& set, const std::vector<std::string_view>& chunks) {
  PatternStream stream(set);
  auto mark = [&set](uint32_t pattern, std::string& out) {
    out += "<" + set.pattern(pattern) + ">";
    return OnMatch::kGoOn;
  };
  std::string out;
  for (std::string_view chunk : chunks) EXPECT_TRUE(stream.feed(chunk, out, mark));
  EXPECT_TRUE(stream.finish(out, mark));
  return out;
}

// In one piece, in two and in three at every place, and byte by byte.
void expect_same_in_pieces(std::string_view text, const std::vector<std::string>& patterns) {
  PatternSet set(patterns);
  std::string expected = by_hand(text, patterns);
  EXPECT_EQ(streamed(set, {text}), expected);
  for (size_t a = 0; a <= text.size(); ++a)
    for (size_t b = a; b <= text.size(); ++b)
      ASSERT_EQ(streamed(set, {text.substr(0, a), text.substr(a, b - a), text.substr(b)}), expected)
          << "cut at " << a << " and " << b;
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < text.size(); ++i) bytes.push_back(text.substr(i, 1));
  EXPECT_EQ(streamed(set, bytes), expected);
}

TEST(PatternSet, WithoutPatternsFindsNothingAndHoldsNothing) {
  PatternSet set;
  EXPECT_FALSE(set.find("anything"));
  EXPECT_EQ(set.undecided("anything"), 8u);
}

TEST(PatternSet, FindsTheLeftmostAndOfSeveralTheLongest) {
  PatternSet set({"abcd", "abcdef", "bcdefg"});
  auto match = set.find("xxabcdefg");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->position, 2u);
  EXPECT_EQ(set.pattern(match->pattern), "abcdef");
  EXPECT_EQ(set.find("xxabcdefg", 3)->position, 3u);
  EXPECT_FALSE(set.find("xxabcdefg", 4));
}

TEST(PatternSet, FindsEachPatternAtEveryPlaceOfABuffer) {
  std::vector<std::string> patterns{
      "sixteen bytes 16", "another-pattern-that-is-much-longer-than-a-window", "\0\xff\0\xff"s};
  PatternSet set(patterns);
  for (uint32_t i = 0; i < patterns.size(); ++i)
    for (size_t before = 0; before < 80; ++before) {
      std::string text = std::string(before, '.') + patterns[i] + "..";
      auto match = set.find(text);
      ASSERT_TRUE(match) << before;
      EXPECT_EQ(match->position, before);
      EXPECT_EQ(match->pattern, i);
    }
}

TEST(PatternSet, HoldsBackOnlyWhatCouldGrow) {
  PatternSet set({"secret-value", "sesame-open"});
  EXPECT_EQ(set.undecided("data: hello\n\n"), 13u);
  EXPECT_EQ(set.undecided("the secre"), 4u);
  EXPECT_EQ(set.undecided("the s"), 4u);
  EXPECT_EQ(set.undecided("the secrecy"), 11u);
  EXPECT_EQ(set.undecided("secret-value"), 12u);  // whole already
  EXPECT_EQ(set.undecided("ses"), 0u);            // the first tail that could, not the last
  EXPECT_EQ(set.undecided("sess"), 3u);
  EXPECT_EQ(set.undecided("ses", 1), 2u);
}

TEST(PatternStream, TwoAdjacentPatternsAreFoundWhereverTheBodyIsCut) {
  expect_same_in_pieces("a=caisson_A_01caisson_B_02&b", {"caisson_A_01", "caisson_B_02"});
}

TEST(PatternStream, OverlappingBeginningsAreToldApartWhereverTheBodyIsCut) {
  expect_same_in_pieces("caicaisson_caisson_A_0caisson_A_01", {"caisson_A_01", "caisson_A_02"});
  expect_same_in_pieces("aaaaaaabaaaab", {"aaaab", "aaaaaab"});
  expect_same_in_pieces("abcdabcdabce", {"abcdabce"});
}

TEST(PatternStream, ALongerMatchIsAwaitedAndTheShorterTakenWhenItFails) {
  expect_same_in_pieces("key-1234key-1234-5678key-1234-56", {"key-1234", "key-1234-5678"});
  // The longer one begins first and fails: what lies inside it still counts.
  expect_same_in_pieces("xxabcdxy xxabcdyz", {"abcd", "xxabcdyz"});
}

TEST(PatternStream, BytesOfAnyKindAreCompared) {
  expect_same_in_pieces("\0\0\xff\xff\0\xff\xff\0\0"s, {"\0\xff\xff\0"s, "\xff\xff\0\0"s});
}

TEST(PatternStream, AStopTellsNothingBehindTheMatch) {
  PatternSet set({"stop-here"});
  PatternStream stream(set);
  std::string out;
  auto stop = [](uint32_t, std::string&) { return OnMatch::kStop; };
  EXPECT_TRUE(stream.feed("before sto", out, stop));
  EXPECT_FALSE(stream.feed("p-here after", out, stop));
  EXPECT_FALSE(stream.feed("more", out, stop));
  EXPECT_FALSE(stream.finish(out, stop));
  EXPECT_EQ(out, "before ");
}

TEST(PatternStream, NeverHoldsMoreThanTheLongestPattern) {
  PatternSet set({std::string(20, 'a') + "b"});
  PatternStream stream(set);
  auto none = [](uint32_t, std::string&) { return OnMatch::kGoOn; };
  std::string out;
  size_t fed = 0;
  for (int i = 0; i < 1000; ++i) {
    stream.feed("a", out, none);
    ++fed;
    ASSERT_LE(fed - out.size(), 20u);
  }
  stream.finish(out, none);
  EXPECT_EQ(out, std::string(1000, 'a'));
}

TEST(PatternStream, AgreesWithReplacingByHandOnRandomTexts) {
  std::mt19937 random(20);
  for (int round = 0; round < 3000; ++round) {
    auto word = [&random](size_t least, size_t most) {
      std::string text(least + random() % (most - least + 1), ' ');
      for (char& c : text) c = static_cast<char>('a' + random() % 2);
      return text;
    };
    std::vector<std::string> patterns;
    for (size_t i = 0; i < 1 + random() % 5; ++i) patterns.push_back(word(4, 9));
    std::string text = word(0, 120);
    PatternSet set(patterns);
    std::vector<std::string_view> chunks;
    for (std::string_view rest = text; !rest.empty();) {
      chunks.push_back(rest.substr(0, random() % 12));
      rest.remove_prefix(chunks.back().size());
    }
    ASSERT_EQ(streamed(set, chunks), by_hand(text, patterns)) << text;
  }
}

}  // namespace
}  // namespace caisson

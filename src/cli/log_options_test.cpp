#include "cli/log_options.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

using Words = std::vector<std::string>;
constexpr int64_t kNow = 1'000'000'000'000;

Result<LogOptions> parse(Words words) { return parse_log_options(words, kNow); }

TEST(LogOptions, EveryWordIsUnderstood) {
  Result<LogOptions> options = parse({"--since", "1h", "--status=timeout", "--id", "ab", "-n", "5",
                                      "--json", "-f", "--file", "x"});
  ASSERT_TRUE(options.ok()) << options.error().what;
  EXPECT_EQ(options->since_ms, kNow - 3'600'000);
  EXPECT_EQ(options->status, "timeout");
  EXPECT_EQ(options->id_prefix, "ab");
  EXPECT_EQ(options->last, 5u);
  EXPECT_TRUE(options->json && options->follow && !options->verify);
  EXPECT_EQ(options->file, "x");
}

TEST(LogOptions, SinceIsADurationOrAPointInTime) {
  EXPECT_EQ(parse({"--since", "2d"})->since_ms, kNow - 2 * 86'400'000);
  EXPECT_EQ(parse({"--since", "1970-01-02T00:00:00Z"})->since_ms, 86'400'000);
  EXPECT_EQ(parse({"--since=1970-01-02"})->since_ms, 86'400'000);
  EXPECT_FALSE(parse({"--since", "yesterday"}).ok());
  EXPECT_FALSE(parse({"--since", "d"}).ok());
}

TEST(LogOptions, AMistakeIsNamedWithASuggestion) {
  auto hint = [](Words words) { return parse(std::move(words)).error().hint; };
  auto what = [](Words words) { return parse(std::move(words)).error().what; };
  EXPECT_EQ(hint({"--folow"}), "did you mean --follow?");
  EXPECT_EQ(hint({"verfy"}), "did you mean verify?");
  EXPECT_EQ(hint({"--status", "timout"}), "did you mean timeout?");
  EXPECT_NE(what({"--folow"}).find("--folow"), std::string::npos);
  EXPECT_NE(what({"--since"}).find("needs a value"), std::string::npos);
  EXPECT_FALSE(parse({"-n", "5x"}).ok());
  EXPECT_FALSE(parse({"-n", "-1"}).ok());
  EXPECT_FALSE(parse({"--json=1"}).ok());
  EXPECT_FALSE(parse({"verify", "verify"}).ok());
  EXPECT_FALSE(parse({"verify", "-n", "1"}).ok());
}

TEST(LogOptions, HelpFitsAScreen) {
  size_t lines = 0, column = 0;
  for (char c : kLogHelp) {
    lines += c == '\n';
    column = c == '\n' ? 0 : column + 1;
    EXPECT_LE(column, 100u);
  }
  EXPECT_LE(lines, 24u);
}

}  // namespace
}  // namespace caisson

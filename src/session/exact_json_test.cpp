#include "session/exact_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <fmt/format.h>

namespace caisson::session {
namespace {

namespace json = boost::json;

constexpr size_t kDepth = 32;

json::value parsed(std::string_view text) {
  boost::system::error_code failed;
  json::value value = parse_exactly(text, kDepth, failed);
  EXPECT_FALSE(failed) << text << ": " << failed.message();
  return value;
}

TEST(ExactJson, EveryNumberIsTheOneThatWasWritten) {
  std::mt19937_64 random(7);
  size_t off_by_boost = 0;
  for (int i = 0; i < 20'000; ++i) {
    double number =
        std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 100);
    std::string text = fmt::format("{:.16e}", number);
    EXPECT_EQ(parsed(text).as_double(), number) << text;
    off_by_boost += json::parse(text).as_double() != number;
  }
  EXPECT_GT(off_by_boost, 0u) << "boost reads exactly now: this file can go";
  EXPECT_EQ(parsed("474.59380568556355").as_double(), 474.59380568556355);
  EXPECT_EQ(parsed("-0.0").as_double(), 0.0);
  EXPECT_TRUE(std::signbit(parsed("-0.0").as_double()));
}

TEST(ExactJson, AllElseIsAsBoostReadsIt) {
  for (std::string_view text :
       {R"({"a":[1,-2,18446744073709551615,true,null,[],{}],"b\n":"\u00e9\ud83d\ude00","a":2})",
        "[]", " {} \n", "1", "\"x\"", "null", "[1.5,1e3,-2E-2]", "123456789012345678901234567890"})
    EXPECT_EQ(parsed(text), json::parse(text)) << text;
  for (std::string_view text :
       {"", " ", "{", "[1,]", "[1] 2", "{} {}", "nul", "\"\xff\"", "1.", "01"}) {
    boost::system::error_code failed, known;
    parse_exactly(text, kDepth, failed);
    (void)json::parse(text, known);
    EXPECT_TRUE(failed) << text;
    EXPECT_TRUE(known) << text;
  }
  boost::system::error_code failed;
  parse_exactly(std::string(kDepth + 1, '[') + std::string(kDepth + 1, ']'), kDepth, failed);
  EXPECT_TRUE(failed);
  failed = {};
  parse_exactly(std::string(kDepth, '[') + std::string(kDepth, ']'), kDepth, failed);
  EXPECT_FALSE(failed);
}

}  // namespace
}  // namespace caisson::session

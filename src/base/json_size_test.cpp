#include "base/json_size.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace caisson {
namespace {

std::string object_of(size_t keys) {
  std::string text = "{";
  for (size_t i = 0; i < keys; ++i) text += fmt::format("{}\"{:06}\":1", i ? "," : "", i);
  return text + "}";
}

TEST(JsonSize, ValuesAreCountedAndStringsSkipped) {
  EXPECT_EQ(measure_json("1").values, 1u);
  EXPECT_EQ(measure_json(R"({"a":[1,2,{}]})").values, 7u);
  EXPECT_EQ(measure_json(R"("a,b:[{\",\\")").values, 1u);
  EXPECT_EQ(measure_json(R"(["\\",1])").values, 3u);
  for (const char* cut : {"\"", "\"\\", "\"a", "[\"\\\""}) EXPECT_LE(measure_json(cut).values, 2u);
}

TEST(JsonSize, KeysCountForTheObjectTheyAreIn) {
  EXPECT_EQ(measure_json(R"({"a":1,"b":2,"c":{"d":1}})").key_squares, 10u);
  EXPECT_EQ(measure_json(R"([{"a":1,"b":2},{"a":1,"b":2}])").key_squares, 8u);
  EXPECT_EQ(measure_json(R"({"a":[1,2,":"],"b":{}})").key_squares, 4u);
  EXPECT_EQ(measure_json(R"({"a":1,"b":)").key_squares, 4u) << "cut";
  EXPECT_EQ(measure_json("]]}}:").key_squares, 0u);
  EXPECT_EQ(measure_json(std::string(1000, '{') + ":" + std::string(1000, '}')).key_squares, 0u);
}

TEST(JsonSize, ManyKeysInOneObjectAreTooManyAndInManyObjectsNot) {
  EXPECT_TRUE(check_json_size(object_of(7'900)).ok());
  EXPECT_FALSE(check_json_size(object_of(8'100)).ok());
  std::string rows = "[" + object_of(30);
  for (int i = 0; i < 15'000; ++i) rows += "," + object_of(30);
  EXPECT_TRUE(check_json_size(rows + "]").ok());
  std::string wide = "[" + object_of(4'000);
  for (int i = 0; i < 9; ++i) wide += "," + object_of(4'000);
  EXPECT_FALSE(check_json_size(wide + "]").ok()) << "each below the bound, and ten of them";
}

TEST(JsonSize, ManyValuesAreTooMany) {
  std::string text = "[";
  for (int i = 0; i < 100'000; ++i) text += "1,";
  EXPECT_TRUE(check_json_size(text + "1]").ok());
  EXPECT_FALSE(check_json_size(text + "1]", 50'000).ok());
}

}  // namespace
}  // namespace caisson

#include "http/plain_json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace caisson::http {
namespace {

namespace json = boost::json;

TEST(PlainJson, NumbersReadAsPythonWritesThem) {
  struct Case {
    double number;
    std::string_view text;
  };
  for (Case one :
       {Case{1.5, "1.5"}, Case{100, "100.0"}, Case{0.1, "0.1"}, Case{-0.0, "-0.0"},
        Case{1e16, "1e+16"}, Case{123456789012345680.0, "1.2345678901234568e+17"},
        Case{1e-5, "1e-05"}, Case{5e-324, "5e-324"}, Case{2.0 / 3, "0.6666666666666666"}}) {
    EXPECT_EQ(plain_json(one.number), one.text);
    EXPECT_EQ(json::parse(plain_json(one.number)).as_double(), one.number);
  }
  EXPECT_EQ(plain_json(std::nan("")), "null");
}

TEST(PlainJson, AllElseIsAsBoostWritesIt) {
  json::value value = json::parse(
      R"({"a":[1,-2,18446744073709551615,true,null,[],{}],"b\n":{"\u0001\"":"\u00e9/\\"},"c":""})");
  EXPECT_EQ(plain_json(value), json::serialize(value));
  EXPECT_EQ(plain_json(json::parse("[0.1,100.0,{\"x\":1E3}]")), R"([0.1,100.0,{"x":1000.0}])");
}

}  // namespace
}  // namespace caisson::http

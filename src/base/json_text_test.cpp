#include "base/json_text.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace caisson {

namespace {

// As boost::json writes it: a policy's digest is made of such texts.
void expect_as_written(const std::string& text) {
  EXPECT_EQ(text, boost::json::serialize(boost::json::parse(text)));
}

TEST(JsonText, HasCommasAndColonsWhereTheyBelong) {
  JsonText text;
  text.begin_object();
  text.member("a", uint64_t{1});
  text.key("b");
  text.begin_array();
  text.value("x");
  text.value(true);
  text.null();
  text.begin_object();
  text.end_object();
  text.begin_array();
  text.end_array();
  text.value(int64_t{-5});
  text.end_array();
  text.key("c");
  text.raw("{\"d\":1}");
  text.member("e", UINT64_MAX);
  text.end_object();
  std::string written = text.take();
  EXPECT_EQ(written,
            R"({"a":1,"b":["x",true,null,{},[],-5],"c":{"d":1},"e":18446744073709551615})");
  expect_as_written(written);
}

TEST(JsonText, EscapesEveryCharacterAsTheLibraryDoes) {
  for (int c = 0; c < 0x80; ++c) {
    std::string one = "x" + std::string(1, static_cast<char>(c)) + "y";
    JsonText text;
    text.value(one);
    std::string written = text.take();
    EXPECT_EQ(written, boost::json::serialize(boost::json::value(one))) << c;
  }
  JsonText text;
  text.value("\"\\\n ü \xf0\x9f\x9a\xa2");
  expect_as_written(text.take());
}

}  // namespace

}  // namespace caisson

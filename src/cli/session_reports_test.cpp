#include "cli/session_reports.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

namespace json = boost::json;

TEST(SessionReports, AVariableIsToldWithItsSize) {
  struct Case {
    std::string_view entry, line;
  };
  for (
      Case one :
      {Case{R"({"name":"x","type":"int","size":28,"summary":"1"})", "x: int = 1"},
       Case{R"({"name":"l","type":"list","length":3,"summary":"[1, 2, 3]"})",
            "l: list (3) = [1, 2, 3]"},
       Case{R"({"name":"v","type":"ndarray","shape":[7],"length":7,"dtype":"int64","summary":"…"})",
            "v: ndarray (7,) int64 = …"},
       Case{
           R"({"name":"m","type":"ndarray","shape":[2,3],"length":2,"dtype":"float32","summary":"…"})",
           "m: ndarray (2, 3) float32 = …"},
       Case{R"({"name":"a","type":"ndarray","shape":[],"dtype":"<U5","summary":"\u001b[2J"})",
            "a: ndarray <U5 = \\x1b[2J"},
       Case{R"({"shape":["x"],"length":-1})", ":  () = "}})
    EXPECT_EQ(variable_line(json::parse(one.entry)), one.line);
}

}  // namespace
}  // namespace caisson

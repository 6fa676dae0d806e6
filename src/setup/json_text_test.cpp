#include "setup/json_text.h"

#include <gtest/gtest.h>

namespace caisson::setup {
namespace {

namespace json = boost::json;
using Path = std::vector<std::string>;

const Path kServers{"mcpServers"};

std::string add(const std::string& text, JsonDialect dialect = JsonDialect::kComments,
                const Path& path = kServers) {
  auto added = add_member(text, dialect, path, "rlm", json::object{{"command", "c"}});
  return added ? added->text : "error: " + added.error().what;
}

std::string remove(const std::string& text, size_t levels, const Path& path = kServers) {
  auto removed = remove_member(text, JsonDialect::kComments, path, "rlm", levels);
  return removed ? *removed : "error: " + removed.error().what;
}

TEST(JsonText, AnEmptyDocumentBecomesOneWithTheEntry) {
  std::string expected =
      "{\n  \"mcpServers\": {\n    \"rlm\": {\n      \"command\": \"c\"\n    }\n  }\n}\n";
  EXPECT_EQ(add(""), expected);
  EXPECT_EQ(add("{}\n"), expected);
  EXPECT_EQ(add(" \n"), expected);
}

TEST(JsonText, TheEntryIsPutBehindTheLastAndNothingElseMoves) {
  EXPECT_EQ(
      add("{\n\t\"z\": 1,\n\t\"mcpServers\": {\n\t\t\"a\": {  \"x\":[1,  2] }\n\t},\n\t\"b\":0\n}"),
      "{\n\t\"z\": 1,\n\t\"mcpServers\": {\n\t\t\"a\": {  \"x\":[1,  2] },\n\t\t\"rlm\": {\n"
      "\t\t\t\"command\": \"c\"\n\t\t}\n\t},\n\t\"b\":0\n}");
}

TEST(JsonText, AFileOnOneLineStaysOnOneLine) {
  EXPECT_EQ(add(R"({"mcpServers":{"a":{}},"n":1})"),
            R"({"mcpServers":{"a":{}, "rlm": {"command": "c"}},"n":1})");
}

TEST(JsonText, CommentsAndTrailingCommasStayWhereTheyAre) {
  EXPECT_EQ(add("// head\n{\n  \"mcpServers\": {\n    \"a\": {}, // about a\n  }, /* end */\n}\n"),
            "// head\n{\n  \"mcpServers\": {\n    \"a\": {}, // about a\n    \"rlm\": {\n"
            "      \"command\": \"c\"\n    },\n  }, /* end */\n}\n");
  EXPECT_EQ(add("{\n  \"mcpServers\": {\n    \"a\": {} // about a, } and \"b\"\n  }\n}\n"),
            "{\n  \"mcpServers\": {\n    \"a\": {}, // about a, } and \"b\"\n    \"rlm\": {\n"
            "      \"command\": \"c\"\n    }\n  }\n}\n");
}

TEST(JsonText, LineEndsOfTheFileAreKept) {
  EXPECT_EQ(add("{\r\n  \"a\": 1\r\n}\r\n", JsonDialect::kStrict, {}),
            "{\r\n  \"a\": 1,\r\n  \"rlm\": {\r\n    \"command\": \"c\"\r\n  }\r\n}\r\n");
}

TEST(JsonText, RemovingUndoesAddingToTheByte) {
  for (std::string text :
       {"{}", "{}\n", "{\n  \"a\": 1\n}\n", R"({"a":1})", "{\n  \"mcpServers\": {}\n}",
        "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n",
        "{\n  \"mcpServers\": {\n    \"a\": {}, // x\n  },\n}\n",
        "{\n  \"mcpServers\": {\n    \"a\": {} // x\n  }\n}\n",
        R"({"mcpServers": {"a": {"b": "}\"{"}}})", "{\r\n\t\"a\": 1\r\n}\r\n"}) {
    auto added = add_member(text, JsonDialect::kComments, kServers, "rlm", json::object());
    ASSERT_TRUE(added.ok()) << text;
    EXPECT_NE(added->text, text);
    EXPECT_EQ(remove(added->text, added->levels), text);
  }
}

TEST(JsonText, AnObjectThatSomebodyElseFilledStays) {
  std::string text = "{\n  \"mcpServers\": {\n    \"rlm\": {},\n    \"other\": {}\n  }\n}\n";
  EXPECT_EQ(remove(text, 1), "{\n  \"mcpServers\": {\n    \"other\": {}\n  }\n}\n");
  EXPECT_EQ(remove("{\"mcpServers\": {\"rlm\": {} /* mine */}}", 1),
            "{\"mcpServers\": { /* mine */}}");
}

TEST(JsonText, APathOfSeveralNamesIsMadeAndTakenAway) {
  Path path{"projects", "/home/a b/\"c\"", "mcpServers"};
  auto added = add_member("{\n  \"n\": 1\n}", JsonDialect::kStrict, path, "rlm", json::object());
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(added->levels, 3u);
  EXPECT_EQ(depth_of(*read_json(added->text, JsonDialect::kStrict), path), 3u);
  EXPECT_EQ(remove(added->text, 3, path), "{\n  \"n\": 1\n}");
}

TEST(JsonText, WhatIsNotJsonIsAnErrorWithItsLine) {
  for (std::string text : {"{\n  \"a\": 1,\n  oops\n}", "{", "[]", "{} x", "{\"a\": 1}}", "\xff"}) {
    EXPECT_TRUE(add(text).starts_with("error: not ")) << text << " → " << add(text);
  }
  EXPECT_EQ(read_json("{\n  \"a\": 1,\n  oops\n}", JsonDialect::kStrict).error().what,
            "not valid JSON: syntax error in line 3");
  EXPECT_FALSE(read_json("{} // c", JsonDialect::kStrict).ok());
  EXPECT_FALSE(read_json("{\"a\": 1,}", JsonDialect::kStrict).ok());
  EXPECT_TRUE(read_json("{\"a\": 1,} // c", JsonDialect::kComments).ok());
}

TEST(JsonText, AKeyThatStandsTwiceIsNotGuessedAt) {
  EXPECT_EQ(add(R"({"mcpServers": {}, "mcpServers": {"a": 1}})"),
            "error: the key \"mcpServers\" stands there twice");
}

TEST(JsonText, ServersThatAreNoObjectAreLeftAlone) {
  EXPECT_EQ(add(R"({"mcpServers": []})"), "error: \"mcpServers\" is not an object");
  EXPECT_EQ(add(R"({"mcpServers": null})"), "error: \"mcpServers\" is not an object");
}

TEST(JsonText, DepthIsBounded) {
  std::string deep = "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_TRUE(add(deep).starts_with("error: not valid JSON"));
}

TEST(JsonText, OneStringIsReplaced) {
  auto text = replace_string("{ \"m\" : {\"rlm\": {\"command\" : \"\\u0061\" , \"k\": 1}}} // c",
                             JsonDialect::kComments, Path{"m", "rlm"}, "command", "/b \"c\"");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "{ \"m\" : {\"rlm\": {\"command\" : \"/b \\\"c\\\"\" , \"k\": 1}}} // c");
}

}  // namespace
}  // namespace caisson::setup

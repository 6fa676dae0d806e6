#include "mcp/texts.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "mcp/tool_table.h"

namespace caisson::mcp {
namespace {

TEST(Texts, EveryByteThatIsNoTextIsReplacedAndNothingElse) {
  EXPECT_EQ(clean_utf8("plain ä 😀"), "plain ä 😀");
  EXPECT_EQ(clean_utf8("a\xff"
                       "b"),
            "a\xef\xbf\xbd"
            "b");
  // A surrogate, an overlong slash, something above U+10FFFF, half a character at the end.
  for (std::string_view bad : {"\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    std::string clean = clean_utf8(bad);
    EXPECT_TRUE(is_valid_utf8(clean));
    EXPECT_EQ(clean.size(), bad.size() * 3);
  }
}

TEST(Texts, ACutTextKeepsHeadAndTailWithinTheLimit) {
  std::string text = std::string(500, 'a') + std::string(500, 'z');
  std::string cut = cut_middle(text, 100, "...");
  EXPECT_EQ(cut.size(), 100u);
  EXPECT_TRUE(cut.starts_with("aaa") && cut.ends_with("zzz"));
  EXPECT_EQ(cut_middle(text, 1000, "..."), text);
}

TEST(Texts, CharactersAreCountedAndNeverTornApart) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "😀";
  EXPECT_EQ(cut_middle(text, 300, "..."), text);
  std::string cut = cut_middle(text, 100, "…");
  EXPECT_EQ(count_characters(cut), 100u);
  EXPECT_TRUE(is_valid_utf8(cut));
}

TEST(Texts, JsonIsIndentedAsPythonDoes) {
  EXPECT_EQ(pretty_json(json::parse(R"({"a":[1,2.0,null],"b":{},"c":[]})")),
            "{\n  \"a\": [\n    1,\n    2.0,\n    null\n  ],\n  \"b\": {},\n  \"c\": []\n}");
}

session::CallAnswer answer(std::string status, std::string_view result) {
  session::CallAnswer made;
  made.status = std::move(status);
  made.result = json::parse(result).as_object();
  return made;
}

TEST(Show, OutputThenValueThenStderr) {
  session::CallAnswer told = answer("ok", R"({"value":{"text/plain":"42"}})");
  told.output = "out\n";
  told.errors = "err\n";
  Shown shown = show_exec(told);
  EXPECT_EQ(shown.text, "out\n42\n[stderr] err");
  EXPECT_FALSE(shown.is_error);
  EXPECT_EQ(show_exec(answer("ok", "{}")).text, "(no output)");
}

TEST(Show, ImagesMustBeBase64) {
  Shown shown = show_exec(answer("ok", R"({"displays":[{"image/png":"aGk=","text/plain":"x"},
      {"image/png":"not base64!","text/plain":"y"}, 5, {"image/png":7}]})"));
  ASSERT_EQ(shown.images.size(), 1u);
  EXPECT_EQ(shown.images[0].base64, "aGk=");
  EXPECT_EQ(shown.text, "y");
}

TEST(Show, AnAnswerThatIsNonsenseIsStillAnAnswer) {
  for (std::string_view result :
       {"{}", R"({"value":5,"displays":7,"error":[],"notes":{"a":1},"final":null})",
        R"({"variables":[1,{"name":5}],"left_out":-3,"cut":"x","text":{}})"})
    for (std::string_view status : {"ok", "error", "exit", "timeout", "lost", "???"}) {
      session::CallAnswer told = answer(std::string(status), result);
      EXPECT_TRUE(is_valid_utf8(show_exec(told).text));
      EXPECT_TRUE(is_valid_utf8(show_vars(told).text));
      EXPECT_TRUE(is_valid_utf8(show_value(told).text));
      EXPECT_TRUE(is_valid_utf8(show_load(told, "a/b", "v").text));
    }
}

TEST(Show, LoadSaysTheNameAndTheSize) {
  EXPECT_EQ(show_load(answer("ok", R"({"chars":12,"bytes":14})"), "/a/b.txt", "v").text,
            "Loaded b.txt into `v` (12 chars)");
}

TEST(LoadErrors, AreOfThreeKinds) {
  EXPECT_EQ(load_error_text({"load x", "", ENOENT}, "x"), "Error: file not found: x");
  EXPECT_TRUE(load_error_text({"load x: it lies in y, which sessions may not read", "", 0}, "x")
                  .starts_with("Error: access denied — "));
  EXPECT_EQ(load_error_text({"load x: too large", "", 0}, "x"), "Error: load x: too large");
}

TEST(SessionNames, AreShortAndPlain) {
  for (std::string_view good : {"a", "main", "A-b_9", "0"}) EXPECT_TRUE(is_session_name(good));
  for (std::string_view bad : {"", ".", "a.b", "-a", "_a", "a/b", "a b", "ä"})
    EXPECT_FALSE(is_session_name(bad)) << bad;
  EXPECT_FALSE(is_session_name(std::string(kMaxSessionName + 1, 'a')));
}

TEST(Texts, OutputBeyondTheLimitIsToldOnce) {
  session::CallAnswer answer;
  answer.status = "ok";
  answer.output = "x";
  answer.output_cut = 5;
  answer.notes = {"5 bytes of output beyond the limit were cut"};
  EXPECT_EQ(show_exec(answer).text, "x\n[note] 5 bytes of output beyond the limit were cut");
}

TEST(Texts, ManyFilesAreToldInSum) {
  session::CallAnswer answer;
  answer.status = "ok";
  answer.result = {{"files", 2}, {"chars", 107}, {"bytes", 110}};
  EXPECT_EQ(show_load(answer, "/a/many/", "d").text, "Loaded many into `d` (2 files, 107 chars)");
  answer.result = {{"files", 1}, {"rows", 3}};
  EXPECT_EQ(show_load(answer, "x*", "d").text, "Loaded x* into `d` (1 file, 3 rows)");
  answer.result = {{"chars", 80}, {"bytes", 80}};
  EXPECT_EQ(show_load(answer, "x", "d").text, "Loaded x into `d` (80 chars)");
}

}  // namespace
}  // namespace caisson::mcp

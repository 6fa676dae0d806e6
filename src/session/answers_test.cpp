#include "session/answers.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace caisson::session {
namespace {

namespace json = boost::json;

std::string all(const std::vector<std::string>& notes) { return join(notes, "; "); }

TEST(Answers, TheInterpretersStatusIsOneOfTheKnownOnes) {
  EXPECT_EQ(answer_from_result(0, R"({"status":"ok"})", {}).status, "ok");
  EXPECT_EQ(answer_from_result(0, R"({"status":"final"})", {}).status, "final");
  for (const char* body : {R"({"status":"lost"})", R"({"status":"timeout"})", R"({"status":1})",
                           R"({})", "[1]", "not json", "", "\xff"})
    EXPECT_EQ(answer_from_result(0, body, {}).status, "error") << body;
}

TEST(Answers, ADeepAnswerIsRefused) {
  std::string deep(100000, '[');
  EXPECT_EQ(answer_from_result(0, R"({"status":"ok","value":)" + deep, {}).status, "error");
  EXPECT_FALSE(parse_object(deep).ok());
}

TEST(Answers, AnAnswerOfManyValuesIsRefusedBeforeItIsParsed) {
  std::string bomb = R"({"status":"ok","value":[)";
  for (size_t i = 0; i <= kMostJsonValues; ++i) bomb += "[],";
  bomb += "[]]}";
  EXPECT_EQ(answer_from_result(0, bomb, {}).status, "error");
  EXPECT_TRUE(parse_object(bomb, 3 * kMostJsonValues).ok());  // it is JSON
}

TEST(Answers, AnInterruptedCallSaysWhoStoppedIt) {
  const char* body = R"({"status":"interrupted"})";
  EXPECT_EQ(answer_from_result(kWasInterrupted, body, {}).status, "timeout");
  EXPECT_EQ(answer_from_result(kWasInterrupted, body, {.interrupt_asked = true}).status,
            "interrupted");
  // User code that claims to be well after it was stopped is not believed.
  EXPECT_EQ(answer_from_result(kWasInterrupted, R"({"status":"ok"})", {}).status, "timeout");
}

TEST(Answers, WhatTheKeeperEndedIsToldWithWhatWasKept) {
  CallAnswer answer = answer_from_ended(
      R"({"why":"x","stopped":"timeout","restored":true,"checkpoint":3,"after_call":7,)"
      R"("calls_lost":true,"threads_lost":2,"channels_lost":0})");
  EXPECT_EQ(answer.status, "timeout");
  std::string notes = all(answer.notes);
  EXPECT_NE(notes.find("ran out of time and was killed: x;"), std::string::npos) << notes;
  EXPECT_NE(notes.find("after call 7"), std::string::npos) << notes;
  EXPECT_NE(notes.find("calls before this one are lost"), std::string::npos) << notes;
  EXPECT_NE(notes.find("2 threads"), std::string::npos) << notes;
  EXPECT_EQ(notes.find("sockets"), std::string::npos) << notes;
}

TEST(Answers, WhatIsNotRestoredIsLost) {
  EXPECT_EQ(answer_from_ended(R"({"why":"exit","restored":false})").status, "lost");
  EXPECT_EQ(answer_from_ended(R"({"why":"exit","restored":true,"checkpoint":0})").status, "killed");
  EXPECT_EQ(answer_from_ended("nonsense").status, "lost");
}

TEST(Answers, TextOfACellCanNotSteerATerminal) {
  CallAnswer answer = answer_from_ended("{\"why\":\"\\u001b]52;c;AAAA\\u0007\",\"restored\":true}");
  EXPECT_EQ(all(answer.notes).find('\x1b'), std::string::npos);
  EXPECT_EQ(answer_lost("\x1b[2J").notes[0].find('\x1b'), std::string::npos);
  EXPECT_EQ(cell_error("it", "caisson: \x1b[2J\n").what.find('\x1b'), std::string::npos);
}

TEST(Answers, AReasonIsOneLine) {
  CallAnswer answer;
  answer.status = "lost";
  EXPECT_EQ(reason_of(answer), "lost");
  answer.notes = {"it ended", "and so did\x1b all"};
  EXPECT_EQ(reason_of(answer).substr(0, 22), "it ended; and so did\\x");
  answer.result = {{"error", {{"traceback", "Traceback:\n  File x\nCannotSave: why\n"}}}};
  EXPECT_EQ(reason_of(answer), "CannotSave: why");
}

TEST(Answers, VariablesAreNamedInWords) {
  EXPECT_EQ(named_variables(nullptr), "");
  json::value list = json::parse(R"(["a","b"])");
  EXPECT_EQ(named_variables(&list), "a, b");
  list = json::parse(
      R"([{"name":"lk","type":"lock","why":"TypeError: no"},{"name":"m","why":"gone"},5])");
  EXPECT_EQ(named_variables(&list), "lk (lock: TypeError: no), m (gone), ?");
  list = json::array(3, json::value(std::string(100'000, '\x1b')));
  EXPECT_LT(named_variables(&list).size(), 10'000u);  // kept for as long as the session lives
  list = json::array(5000, "name");
  EXPECT_TRUE(named_variables(&list).ends_with("name, and 4499 more")) << named_variables(&list);
}

TEST(Answers, TheErrorOfACellIsTheLastThingThatCaissonSaid) {
  Error error = cell_error("session a did not start",
                           "caisson: a note\ncaisson: cannot do it\nhint: do this\n");
  EXPECT_EQ(error.what, "session a did not start: cannot do it");
  EXPECT_EQ(error.hint, "do this");
  EXPECT_EQ(cell_error("x", "").what, "x");
  EXPECT_EQ(cell_error("x",
                       "pyenv: python3.12: command not found\n\nThe `python3.12' command exists "
                       "in these versions:\n  3.12.1\n\nNote: see 'pyenv help'\n")
                .what,
            "x: pyenv: python3.12: command not found");
  EXPECT_EQ(cell_error("x", "Traceback (most recent call last):\n  File x\nImportError: y\n").what,
            "x: ImportError: y");
  EXPECT_EQ(cell_error("x", "some program\ncaisson: a reason\n").what, "x: a reason");
  EXPECT_LT(cell_error("x", std::string(100000, 'y')).what.size(), 1000u);
}

}  // namespace
}  // namespace caisson::session

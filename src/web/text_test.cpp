// Small texts: UTF-8 from anything, base64, the router, specifications.
#include <gtest/gtest.h>

#include "web/base64.h"
#include "web/encode.h"
#include "web/openapi.h"
#include "web/router.h"
#include "web/spec_json.h"
#include "web/utf8.h"

namespace caisson::web {
namespace {

namespace json = boost::json;

TEST(WebUtf8, KeepsTextAndReplacesTheRest) {
  EXPECT_EQ(lossy_utf8("plain \xc3\xa9 \xf0\x9f\x98\x80"), "plain \xc3\xa9 \xf0\x9f\x98\x80");
  EXPECT_EQ(lossy_utf8("a\xff"), "a\xef\xbf\xbd");
  EXPECT_EQ(lossy_utf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");                  // overlong
  EXPECT_EQ(lossy_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // surrogate
  EXPECT_EQ(lossy_utf8("\xe2\x82"), "\xef\xbf\xbd");                              // cut
  EXPECT_EQ(lossy_utf8("\xf4\x90\x80\x80").find("\xf4"), std::string::npos);
}

TEST(WebUtf8, HoldsACharacterThatIsCutBetweenPieces) {
  std::string text = "x\xf0\x9f\x98\x80y\xc3\xa9z";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Utf8Stream stream;
    std::string out = stream.feed(text.substr(0, cut));
    out += stream.feed(text.substr(cut));
    out += stream.finish();
    EXPECT_EQ(out, text) << cut;
  }
}

TEST(WebBase64, ReadsExactlyWhatIsBase64) {
  EXPECT_EQ(base64_decode(""), "");
  EXPECT_EQ(base64_decode("AA=="), std::string(1, '\0'));
  EXPECT_EQ(base64_decode("aGVsbG8="), "hello");
  for (std::string_view text : {"a", "aGVsbG8", "aGV sbG8=", "aGVsbG8=\n", "====", "AB==", "a-_="})
    EXPECT_FALSE(base64_decode(text)) << text;
}

Match find(std::string_view method, std::vector<std::string> segments) {
  http::Request request;
  request.method = method;
  request.segments = std::move(segments);
  return match(routes(), request);
}

TEST(WebRouter, FindsRoutesAndTheirWords) {
  Match found = find("GET", {"v1", "sessions", "a", "files", "b", "c"});
  ASSERT_TRUE(found.route);
  EXPECT_EQ(found.route->path, "/v1/sessions/{session}/files/**");
  EXPECT_EQ(found.words, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(find("GET", {"v1", "sessions", "a", "files"}).words.size(), 1u);
}

TEST(WebRouter, TellsAnotherMethodFromAnotherPath) {
  Match other = find("PATCH", {"v1", "sessions"});
  EXPECT_FALSE(other.route);
  EXPECT_TRUE(other.path_is_known);
  EXPECT_EQ(other.allow, "GET, POST");
  for (std::vector<std::string> path : {std::vector<std::string>{},
                                        {"v1"},
                                        {"v1", "sessions", ""},
                                        {"v1", "sessions", "a", "nowhere"},
                                        {"exec", "x"}}) {
    EXPECT_FALSE(find("GET", path).path_is_known) << path.size();
  }
}

TEST(WebRouter, OnlyTheFirstApiIsOpen) {
  for (const Route& route : routes())
    EXPECT_EQ(route.may_be_open, !route.path.starts_with("/v1") && route.path != "/metrics")
        << route.path;
}

TEST(WebOpenApi, NamesASchemaForEachBody) {
  json::object document = openapi_document(routes());
  const json::object& schemas = document["components"].as_object()["schemas"].as_object();
  for (const Route& route : routes())
    for (std::string_view name : {route.takes, route.gives})
      EXPECT_TRUE(name.empty() || name == "bytes" || name == "text" || schemas.contains(name))
          << name;
}

TEST(WebSpec, ReadsBackWhatItWrites) {
  session::SessionSpec spec;
  spec.name = "a";
  spec.policy_words = {"--allow-domain", "example.org"};
  spec.memory_bytes = uint64_t{3} << 30;
  spec.ipython = false;
  Result<session::SessionSpec> back = spec_from_json(spec_to_json(spec));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->name, "a");
  EXPECT_EQ(back->policy_words, spec.policy_words);
  EXPECT_EQ(back->memory_bytes, spec.memory_bytes);
  EXPECT_FALSE(back->ipython);
}

TEST(WebSpec, RefusesWhatItDoesNotKnow) {
  for (std::string_view text :
       {R"({"memory": 1})", R"({"pids": 1.5})", R"({"pids": -1})", R"({"name": 1})",
        R"({"policy": "x"})", R"({"policy": [1]})", R"({"ipython": 1})", R"({"memory_bytes": 1})",
        R"({"workspace": "a\u0000b"})"}) {
    Result<json::object> object = parse_object(text);
    ASSERT_TRUE(object.ok()) << text;
    EXPECT_FALSE(spec_from_json(*object).ok()) << text;
  }
}

TEST(WebSpec, BoundsTheDepthOfJson) {
  EXPECT_FALSE(parse_object(std::string(100, '[') + std::string(100, ']')).ok());
  EXPECT_FALSE(parse_object("{\"a\":" + std::string(40, '[') + std::string(40, ']') + "}").ok());
  EXPECT_FALSE(parse_object("[]").ok());
  EXPECT_TRUE(parse_object("{\"a\": [[]]}").ok());
}

TEST(WebEncode, TheHostsWordsWinOverTheInterpreters) {
  session::CallAnswer answer;
  answer.status = "timeout";
  answer.output = "out\xff";
  answer.result = {{"status", "ok"}, {"output", "forged"}, {"notes", "forged"}, {"value", 1}};
  json::object object = answer_json(answer, WithOutput::kYes);
  EXPECT_EQ(object["status"], "timeout");
  EXPECT_EQ(object["output"], "out\xef\xbf\xbd");
  EXPECT_TRUE(object["notes"].is_array());
}

TEST(WebEncode, NotesOfTheInterpreterStandBehindTheHosts) {
  session::CallAnswer answer;
  answer.notes = {"it was stopped"};
  answer.result = {{"notes", json::array{"left out\xff", 5, std::string(5000, 'x')}}};
  json::array notes = answer_json(answer, WithOutput::kNo)["notes"].as_array();
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0], "it was stopped");
  EXPECT_EQ(notes[1], "left out\xef\xbf\xbd");
  EXPECT_EQ(notes[2].as_string().size(), 2000u);
  EXPECT_TRUE(compat_errors(answer).starts_with("it was stopped\nleft out"));
  answer.result = {{"notes", json::array(1000, "again")}};
  EXPECT_EQ(answer_json(answer, WithOutput::kNo)["notes"].as_array().size(), 65u);
}

TEST(WebEncode, AGuessOfTheEncodingIsToldAsOne) {
  session::CallAnswer answer;
  answer.result = {{"encoding", "koi8_u"}, {"encoding_guessed", true}};
  EXPECT_EQ(answer_json(answer, WithOutput::kNo)["encoding_guessed"], true);
}

TEST(WebEncode, AnEventIsOneLineOfData) {
  std::string event = sse_event("stdout", json::object{{"text", "a\n\nevent: result\n\r\n"}});
  EXPECT_EQ(event.find("\n\n"), event.size() - 2);
  EXPECT_EQ(event.find('\r'), std::string::npos);
}

TEST(WebEncode, TheFirstApisOutputHasTheLastValueOnce) {
  session::CallAnswer answer;
  answer.output = "printed";
  answer.result = {{"value", {{"text/plain", "2"}}}};
  EXPECT_EQ(compat_output(answer), "printed\n2\n");
  answer.result = {{"error", {{"traceback", "Traceback\nX: y\n"}}}};
  answer.notes = {"it was stopped"};
  EXPECT_EQ(compat_errors(answer), "Traceback\nX: y\nit was stopped");
}

}  // namespace
}  // namespace caisson::web

#include "mcp/jsonrpc.h"

#include <gtest/gtest.h>

namespace caisson::mcp {
namespace {

Message message_of(std::string_view text) {
  Frame frame = parse_frame(text);
  EXPECT_EQ(frame.parts.size(), 1u) << text;
  EXPECT_TRUE(std::holds_alternative<Message>(frame.parts[0])) << text;
  return std::get<Message>(frame.parts[0]);
}

Code fault_of(std::string_view text) {
  Frame frame = parse_frame(text);
  EXPECT_TRUE(std::holds_alternative<Fault>(frame.parts.at(0))) << text.substr(0, 80);
  return std::get<Fault>(frame.parts[0]).error.code;
}

TEST(JsonRpc, KindsAreToldApart) {
  using Kind = Message::Kind;
  EXPECT_EQ(message_of(R"({"jsonrpc":"2.0","id":1,"method":"a"})").kind, Kind::kRequest);
  EXPECT_EQ(message_of(R"({"jsonrpc":"2.0","method":"a","params":{"x":1}})").kind,
            Kind::kNotification);
  EXPECT_EQ(message_of(R"({"jsonrpc":"2.0","id":"x","result":{}})").kind, Kind::kAnswer);
  EXPECT_TRUE(message_of(R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})").failed);
}

TEST(JsonRpc, IdsAreStringsOrIntegersAndTheTwoDiffer) {
  EXPECT_NE(id_key(message_of(R"({"jsonrpc":"2.0","id":1,"method":"a"})").id),
            id_key(message_of(R"({"jsonrpc":"2.0","id":"1","method":"a"})").id));
  for (std::string_view id : {"null", "1.5", "{}", "[]", "true"})
    EXPECT_EQ(fault_of("{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":" + std::string(id) + "}"),
              Code::kInvalidRequest)
        << id;
}

TEST(JsonRpc, DepthAndSizeHaveBounds) {
  auto nested = [](size_t depth) {
    return R"({"jsonrpc":"2.0","method":"a","params":{"x":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}}";
  };
  EXPECT_EQ(message_of(nested(kMaxDepth - 2)).method, "a");
  EXPECT_EQ(fault_of(nested(kMaxDepth + 1)), Code::kParse);
  EXPECT_EQ(fault_of(std::string(kMaxFrame + 1, ' ')), Code::kInvalidRequest);
}

TEST(JsonRpc, ABatchHasItsPartsAndAnEmptyOneIsAFault) {
  Frame frame = parse_frame(R"([{"jsonrpc":"2.0","id":1,"method":"a"}, 5])");
  EXPECT_TRUE(frame.batch);
  ASSERT_EQ(frame.parts.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Fault>(frame.parts[1]));
  EXPECT_EQ(fault_of("[]"), Code::kInvalidRequest);
}

TEST(JsonRpc, TheErrorOfABadRequestGoesToItsId) {
  Frame frame = parse_frame(R"({"jsonrpc":"2.0","id":7,"method":"a","params":[1]})");
  EXPECT_EQ(std::get<Fault>(frame.parts[0]).id, 7);
}

TEST(JsonRpc, AMessageThatIsNotParsedIsAnsweredByItsIdIfItHasOne) {
  auto id_of = [](const std::string& text) {
    return std::get<Fault>(parse_frame(text).parts[0]).id;
  };
  std::string deep = std::string(70, '[') + std::string(70, ']'), wide(kMaxFrame, ' ');
  EXPECT_EQ(id_of(R"({"id":7,"params":)" + deep + "}"), 7);
  EXPECT_EQ(id_of(R"({"params":)" + deep + R"(,"id": "a\"b" })"), "a\"b");
  EXPECT_EQ(id_of(R"({"params":{"id":7},"x":)" + deep + "}"), nullptr);
  EXPECT_EQ(id_of(R"({"id":7,"id":8,"x":)" + deep + "}"), nullptr);
  EXPECT_EQ(id_of(R"({"id":{"id":7},"x":)" + deep + "}"), nullptr);
  EXPECT_EQ(id_of("{\"id\":-3" + wide + "}"), -3);
  EXPECT_EQ(id_of("[{\"id\":3}" + wide + "]"), nullptr);
  EXPECT_EQ(id_of("{\"id\":\"" + std::string(kMaxFrame, 'x') + "\"}"), nullptr);
}

TEST(JsonRpc, HalfOfACharacterIsTakenForNone) {
  auto method_of = [](const std::string& written) {
    return message_of("{\"jsonrpc\":\"2.0\",\"method\":\"" + written + "\"}").method;
  };
  EXPECT_EQ(method_of("a\\ud83d"), "a\xef\xbf\xbd");
  EXPECT_EQ(method_of("\\uDE00\\n"), "\xef\xbf\xbd\n");
  EXPECT_EQ(method_of("\\ud83d\\ude00"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(method_of("\\ud83d\\ud83d\\ude00"), "\xef\xbf\xbd\xf0\x9f\x98\x80");
  EXPECT_EQ(method_of("\\\\ud83d\\ud83dx"), "\\ud83d\xef\xbf\xbdx");
}

TEST(JsonRpc, TextsAreOneLine) {
  std::string text = error_text(7, {Code::kInternal, "two\nlines", nullptr});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text, R"({"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"two\nlines"}})");
}

}  // namespace
}  // namespace caisson::mcp

#include "mcp/http_headers.h"

#include <gtest/gtest.h>

#include "mcp/protocol.h"

namespace caisson::mcp {
namespace {

Message call_of(std::string_view params) {
  Message message;
  message.id = 1;
  message.method = "tools/call";
  message.params = json::parse(params).as_object();
  return message;
}

http::Request request_with(std::vector<http::Field> fields) {
  http::Request request;
  request.fields = std::move(fields);
  return request;
}

TEST(Headers, BodyAndHeadersMustAgree) {
  Message message =
      call_of(R"({"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})");
  std::vector<http::Field> good{
      {"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", "tools/call"}, {"Mcp-Name", "x"}};
  EXPECT_FALSE(check_headers(request_with(good), message));
  for (size_t i = 0; i < good.size(); ++i) {
    auto missing = good, wrong = good, twice = good;
    missing.erase(missing.begin() + static_cast<long>(i));
    wrong[i].value += "y";
    twice.push_back(good[i]);
    for (auto& fields : {missing, wrong, twice}) {
      auto error = check_headers(request_with(fields), message);
      ASSERT_TRUE(error) << good[i].name;
      EXPECT_EQ(error->code, Code::kHeaderMismatch);
    }
  }
}

TEST(Headers, ValuesMayBeBase64) {
  EXPECT_EQ(header_value("plain"), "plain");
  EXPECT_EQ(header_value("=?base64?w6Q=?="), "ä");
  EXPECT_EQ(header_value("=?base64?\?="), "");
  for (std::string_view bad :
       {"=?base64?w6Q?=", "=?base64?====?=", "=?base64?w=Q=?=", "=?base64?w*Q=?="})
    EXPECT_FALSE(header_value(bad)) << bad;
}

TEST(Headers, TheEraIsTheHeadersOrTheBodys) {
  Frame old = parse_frame(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  EXPECT_EQ(era_of(request_with({}), old), Era::kLegacy);
  EXPECT_EQ(era_of(request_with({{"MCP-Protocol-Version", "2025-11-25"}}), old), Era::kLegacy);
  EXPECT_EQ(era_of(request_with({{"MCP-Protocol-Version", "2026-07-28"}}), old), Era::kModern);
  Frame discover = parse_frame(R"({"jsonrpc":"2.0","id":1,"method":"server/discover"})");
  EXPECT_EQ(era_of(request_with({}), discover), Era::kModern);
}

TEST(Pages, EveryItemComesOnceAndCursorsAreChecked) {
  json::array all;
  for (int i = 0; i < 120; ++i) all.emplace_back(i);
  json::array seen;
  json::object params;
  for (int pages = 0; pages < 10; ++pages) {
    auto page = std::get<Page>(page_of(all, params));
    for (auto& item : page.items) seen.push_back(item);
    if (page.next.empty()) break;
    params["cursor"] = page.next;
  }
  EXPECT_EQ(seen, all);
  for (json::value bad : {json::value("at-120"), json::value("at-0"), json::value("at-"),
                          json::value("x"), json::value(5), json::value("at-5x")})
    EXPECT_TRUE(std::holds_alternative<RpcError>(page_of(all, {{"cursor", bad}}))) << bad;
}

}  // namespace
}  // namespace caisson::mcp

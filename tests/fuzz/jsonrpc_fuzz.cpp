// What an MCP client sends: bytes to lines to messages. Whatever comes, each line gives a message
// or an error that goes back as one line of JSON, however the bytes were split.
#include <cstdint>
#include <vector>

#include "mcp/framing.h"
#include "mcp/jsonrpc.h"
#include "mcp/protocol.h"
#include "require.h"

namespace caisson::mcp {
namespace {

constexpr size_t kLimit = 4096;  // small, so that the fuzzer reaches it

std::vector<std::string> lines_of(std::string_view bytes, size_t piece) {
  LineFramer framer(kLimit);
  std::vector<std::string> lines;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    framer.feed(bytes.substr(at, piece));
    while (auto line = framer.next()) {
      REQUIRE(line->text.size() <= kLimit && line->text.find('\n') == std::string::npos);
      REQUIRE(!line->too_long || line->text.empty());
      lines.push_back(line->too_long ? "too long" : line->text);
    }
  }
  return lines;
}

void require_one_line(const std::string& text) {
  REQUIRE(text.find('\n') == std::string::npos && is_valid_utf8(text));
  Frame again = parse_frame(text);
  REQUIRE(!again.batch && again.parts.size() == 1);
}

void check_message(Message message) {
  if (message.kind == Message::Kind::kRequest) {
    REQUIRE(!message.id.is_null() && !message.method.empty());
    require_one_line(result_text(message.id, {}));
    require_one_line(error_text(message.id, {Code::kMethodNotFound, message.method, nullptr}));
  }
  if (looks_modern(message.method, message.params)) (void)read_meta(message.params);
  json::value token = progress_token(message.params);
  REQUIRE(token.is_null() || token.is_string() || token.is_int64() || token.is_uint64());
  (void)page_of(json::array(120, json::value(1)), message.params);
}

void check_frame(std::string_view text) {
  Frame frame = parse_frame(text);
  REQUIRE(!frame.parts.empty() && (frame.batch || frame.parts.size() == 1));
  for (auto& part : frame.parts) {
    if (Fault* fault = std::get_if<Fault>(&part))
      require_one_line(error_text(fault->id, fault->error));
    else
      check_message(std::move(std::get<Message>(part)));
  }
}

}  // namespace
}  // namespace caisson::mcp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::string_view bytes = fuzz::as_text(data, size);
  std::vector<std::string> whole = mcp::lines_of(bytes, size + 1);
  REQUIRE(whole == mcp::lines_of(bytes, 7));
  for (const std::string& line : whole) mcp::check_frame(line);
  mcp::check_frame(bytes);
  return 0;
}

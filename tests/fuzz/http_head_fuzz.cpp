// Heads of HTTP/1: what is accepted reads the same when it is written anew, and holds nothing that
// a second reader could take for the end of a line or for another length.
#include <algorithm>
#include <cstdint>

#include "gateway/http_head.h"
#include "gateway/http_rewrite.h"
#include "require.h"

namespace caisson {
namespace {

bool is_plain(std::string_view text) {
  return std::ranges::none_of(text,
                              [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

void check_fields(const HttpHead& head) {
  REQUIRE(head.fields.size() <= kMaxHttpFields);
  for (const HttpField& field : head.fields) {
    REQUIRE(!field.name.empty() && field.name.find_first_of(": \t") == std::string::npos);
    REQUIRE(is_plain(field.name) && is_plain(field.value));
  }
  REQUIRE(head.count("Content-Length") + head.count("Transfer-Encoding") <= 1);
}

// What is written anew has a few fields of our own (Host, Connection, a length, Via …): beyond the
// bound of a reader of ours, though of nobody else's.
bool has_room(const HttpHead& head) { return head.fields.size() + 8 <= kMaxHttpFields; }

void check_request(std::string_view text) {
  Result<HttpHead> head = parse_request_head(text);
  if (!head) {
    REQUIRE(fuzz::is_one_printable_line(head.error().what));
    return;
  }
  check_fields(*head);
  REQUIRE(is_plain(head->method) && is_plain(head->target) && !head->target.empty());
  REQUIRE(head->count("Host") <= 1);
  BodyFrame body = request_body(*head);
  HttpHead stripped = *head;
  strip_hop_by_hop(stripped);
  if (!has_room(stripped)) return;
  Result<HttpHead> again = parse_request_head(request_text(stripped, "host.example", body, false));
  REQUIRE(again.ok());
  REQUIRE(again->method == head->method && again->target == head->target);
  BodyFrame same = request_body(*again);
  REQUIRE(same.framing == body.framing && same.length == body.length);
}

void check_response(std::string_view text) {
  Result<HttpHead> head = parse_response_head(text);
  if (!head) {
    REQUIRE(fuzz::is_one_printable_line(head.error().what));
    return;
  }
  check_fields(*head);
  REQUIRE(head->status >= 100 && head->status <= 999);
  HttpHead stripped = *head;
  strip_hop_by_hop(stripped);
  if (!has_room(stripped)) return;
  BodyFrame body = response_body(*head, "GET");
  Result<HttpHead> again =
      parse_response_head(response_text(stripped, body, nullptr, Afterwards::kKeepAlive, 1));
  REQUIRE(again.ok());
  REQUIRE(again->status == head->status);
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::optional<size_t> end = caisson::find_head_end(text);
  if (end) REQUIRE(*end <= size && text.substr(0, *end).ends_with("\r\n\r\n"));
  caisson::check_request(text);
  caisson::check_response(text);
  if (end) {
    caisson::check_request(text.substr(0, *end));
    caisson::check_response(text.substr(0, *end));
  }
  return 0;
}

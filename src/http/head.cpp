#include "http/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/control.h"
#include "base/http_words.h"
#include "base/text.h"

namespace caisson::http {
namespace {

Error bad(std::string what, int status = 400) { return {std::move(what), {}, status}; }

// A fragment is never sent; who reads one may cut the path there. A backslash is a slash to some.
bool is_target_char(unsigned char c) { return c > 0x20 && c < 0x7f && c != '#' && c != '\\'; }

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes one line off the front; a CR or LF anywhere but at its end is refused.
Result<std::string_view> take_line(std::string_view& rest) {
  size_t end = rest.find('\n');
  if (end == rest.npos || end == 0 || rest[end - 1] != '\r')
    return bad("a line of the head doesn't end in CRLF");
  std::string_view line = rest.substr(0, end - 1);
  if (line.find('\r') != line.npos) return bad("a bare CR in the head");
  rest.remove_prefix(end + 1);
  return line;
}

Result<Field> parse_field(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') return bad("a folded header line");
  size_t colon = line.find(':');
  if (colon == line.npos) return bad("a header line without a colon");
  std::string_view name = line.substr(0, colon), value = trim_blanks(line.substr(colon + 1));
  if (!is_http_token(name)) return bad("a header name that isn't one");
  if (!std::ranges::all_of(value, is_http_value_char))
    return bad(fmt::format("a control byte in the header {}", name));
  return Field{std::string(name), std::string(value)};
}

Result<void> parse_fields(std::string_view rest, Request& request) {
  for (;;) {
    std::string_view line = TRY(take_line(rest));
    if (line.empty()) break;
    if (request.fields.size() == kMaxFields) return bad("too many headers", 431);
    request.fields.push_back(TRY(parse_field(line)));
  }
  if (!rest.empty()) return bad("bytes behind the head");
  return {};
}

// Digits only: from_chars alone would take no sign either, but "+5" and " 5" must never be lengths.
std::optional<uint64_t> parse_length(std::string_view text) {
  uint64_t length = 0;
  if (text.empty() || text.size() > 18) return std::nullopt;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return length;
}

Result<void> check_framing(const Request& request) {
  size_t lengths = request.count("Content-Length"), codings = request.count("Transfer-Encoding");
  if (lengths > 1 || codings > 1) return bad("the length of the body is told twice");
  if (lengths && codings && control_enabled("http-framing"))
    return bad("both Content-Length and Transfer-Encoding");
  if (lengths && !parse_length(*request.find("Content-Length")))
    return bad("a Content-Length that isn't a number");
  if (codings && (request.minor == 0 || !same_text(*request.find("Transfer-Encoding"), "chunked")))
    return bad("a Transfer-Encoding other than chunked");
  return {};
}

// Two of a field that decides who may do what would let each reader choose its own.
Result<void> check_single_fields(const Request& request) {
  for (std::string_view name : {"Host", "Authorization", "Origin", "Content-Type"})
    if (request.count(name) > 1) return bad(fmt::format("the header {} is there twice", name));
  if (request.minor == 1 && !request.find("Host")) return bad("no Host header");
  return {};
}

Result<void> parse_path(std::string_view target, Request& request) {
  size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != target.npos) request.query = target.substr(mark + 1);
  if (request.path.size() == 1) return {};
  for (std::string_view part : split(std::string_view(request.path).substr(1), '/')) {
    std::optional<std::string> segment = percent_decode(part);
    if (!segment) return bad("a path with a broken %-escape");
    if (*segment == "." || *segment == ".." || segment->find('/') != segment->npos ||
        segment->find('\0') != segment->npos)
      return bad("a path that leads elsewhere than it says");
    if (request.segments.size() == kMaxSegments) return bad("a path of too many parts");
    request.segments.push_back(std::move(*segment));
  }
  return {};
}

Result<void> parse_request_line(std::string_view line, Request& request) {
  size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last) return bad("no request line");
  std::string_view method = line.substr(0, first), version = line.substr(last + 1);
  std::string_view target = line.substr(first + 1, last - first - 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return bad("a version other than HTTP/1.0 and HTTP/1.1", 505);
  if (!is_http_token(method) || method.size() > 16) return bad("a method that isn't one");
  if (target.empty() || target.front() != '/' || !std::ranges::all_of(target, is_target_char))
    return bad("a request target that isn't a path");
  request.method = method;
  request.minor = version.back() - '0';
  return parse_path(target, request);
}

}  // namespace

std::optional<size_t> find_head_end(std::string_view bytes, size_t from) {
  size_t found = bytes.find("\r\n\r\n", from < 3 ? 0 : from - 3);
  if (found == bytes.npos) return std::nullopt;
  return found + 4;
}

Result<Request> parse_request_head(std::string_view head) {
  Request request;
  std::string_view rest = head;
  TRY(parse_request_line(TRY(take_line(rest)), request));
  TRY(parse_fields(rest, request));
  TRY(check_framing(request));
  TRY(check_single_fields(request));
  return request;
}

BodyFrame body_frame(const Request& request) {
  if (request.find("Transfer-Encoding")) return {.chunked = true};
  const std::string* length = request.find("Content-Length");
  return {.length = length ? parse_length(*length).value_or(0) : 0};
}

bool keeps_alive(const Request& request) {
  if (request.lists("Connection", "close")) return false;
  return request.minor == 1 || request.lists("Connection", "keep-alive");
}

}  // namespace caisson::http

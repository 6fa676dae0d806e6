#include "gateway/http_head.h"

#include <algorithm>
#include <charconv>

#include "base/control.h"
#include "base/http_words.h"
#include "base/text.h"

namespace caisson {
namespace {

// A fragment is never sent; who reads one may cut the path there.
bool is_target_char(unsigned char c) { return c > 0x20 && c < 0x7f && c != '#'; }

std::optional<int> minor_of(std::string_view version) {
  if (version == "HTTP/1.1") return 1;
  if (version == "HTTP/1.0") return 0;
  return std::nullopt;
}

// Takes one line off the front; a CR or LF anywhere but at its end is refused.
Result<std::string_view> take_line(std::string_view& rest) {
  size_t end = rest.find('\n');
  if (end == rest.npos || end == 0 || rest[end - 1] != '\r')
    return Error::plain("a line of the head doesn't end in CRLF");
  std::string_view line = rest.substr(0, end - 1);
  if (line.find('\r') != line.npos) return Error::plain("a bare CR in the head");
  rest.remove_prefix(end + 1);
  return line;
}

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Result<HttpField> parse_field(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') return Error::plain("a folded header line");
  size_t colon = line.find(':');
  if (colon == line.npos) return Error::plain("a header line without a colon");
  std::string_view name = line.substr(0, colon), value = trim_blanks(line.substr(colon + 1));
  if (!is_http_token(name)) return Error::plain("a header name that isn't one");
  if (!std::ranges::all_of(value, is_http_value_char))
    // Which one isn't said: the name may be the host's, and tell a secret.
    return Error::plain("a control byte in a header");
  return HttpField{std::string(name), std::string(value)};
}

Result<std::vector<HttpField>> parse_fields(std::string_view rest) {
  std::vector<HttpField> fields;
  for (;;) {
    std::string_view line = TRY(take_line(rest));
    if (line.empty()) break;
    if (fields.size() == kMaxHttpFields) return Error::plain("too many headers");
    fields.push_back(TRY(parse_field(line)));
  }
  if (!rest.empty()) return Error::plain("bytes behind the head");
  return fields;
}

std::optional<uint64_t> parse_length(std::string_view text) {
  uint64_t length = 0;
  if (text.empty() || text.size() > 18) return std::nullopt;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return length;
}

Result<void> check_framing(const HttpHead& head) {
  size_t lengths = head.count("Content-Length"), codings = head.count("Transfer-Encoding");
  if (lengths > 1 || codings > 1) return Error::plain("the length of the body is told twice");
  if (lengths && codings && control_enabled("gateway-framing"))
    return Error::plain("both Content-Length and Transfer-Encoding");
  if (lengths && !parse_length(*head.find("Content-Length")))
    return Error::plain("a Content-Length that isn't a number");
  if (codings && (head.minor == 0 || !same_text(*head.find("Transfer-Encoding"), "chunked")))
    return Error::plain("a Transfer-Encoding other than chunked");
  return {};
}

Result<void> parse_request_line(std::string_view line, HttpHead& head) {
  size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last) return Error::plain("no request line");
  std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  std::optional<int> minor = minor_of(line.substr(last + 1));
  if (!minor) return Error::plain("a version other than HTTP/1.0 and HTTP/1.1");
  if (!is_http_token(method) || method.size() > 32) return Error::plain("a method that isn't one");
  if (!is_request_target(target)) return Error::plain("a request target that isn't one");
  head.method = method;
  head.target = target;
  head.minor = *minor;
  return {};
}

Result<void> parse_status_line(std::string_view line, HttpHead& head) {
  std::optional<int> minor = minor_of(line.substr(0, 8));
  if (!minor || line.size() < 12 || line[8] != ' ') return Error::plain("no status line");
  std::string_view digits = line.substr(9, 3), reason = line.substr(12);
  auto [end, failed] = std::from_chars(digits.data(), digits.data() + 3, head.status);
  if (failed != std::errc() || end != digits.data() + 3 || head.status < 100 || head.status > 999)
    return Error::plain("a status that isn't one");
  if (!reason.empty() && reason.front() != ' ') return Error::plain("no status line");
  if (!std::ranges::all_of(reason, is_http_value_char))
    return Error::plain("a control byte in the status line");
  head.reason = trim_blanks(reason);
  head.minor = *minor;
  return {};
}

}  // namespace

bool same_text(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

const std::string* HttpHead::find(std::string_view name) const {
  for (const HttpField& field : fields)
    if (same_text(field.name, name)) return &field.value;
  return nullptr;
}

size_t HttpHead::count(std::string_view name) const {
  return static_cast<size_t>(std::ranges::count_if(
      fields, [&](const HttpField& field) { return same_text(field.name, name); }));
}

bool HttpHead::lists(std::string_view name, std::string_view word) const {
  for (const HttpField& field : fields) {
    if (!same_text(field.name, name)) continue;
    for (std::string_view part : split(field.value, ','))
      if (same_text(trim_blanks(part), word)) return true;
  }
  return false;
}

void HttpHead::remove(std::string_view name) {
  std::erase_if(fields, [&](const HttpField& field) { return same_text(field.name, name); });
}

std::optional<size_t> find_head_end(std::string_view bytes, size_t from) {
  size_t found = bytes.find("\r\n\r\n", from < 3 ? 0 : from - 3);
  if (found == bytes.npos) return std::nullopt;
  return found + 4;
}

Result<HttpHead> parse_request_head(std::string_view head) {
  HttpHead parsed;
  std::string_view rest = head;
  TRY(parse_request_line(TRY(take_line(rest)), parsed));
  parsed.fields = TRY(parse_fields(rest));
  TRY(check_framing(parsed));
  size_t hosts = parsed.count("Host");
  if (hosts > 1 || (hosts == 0 && parsed.minor == 1))
    return Error::plain("not exactly one Host header");
  return parsed;
}

Result<HttpHead> parse_response_head(std::string_view head) {
  HttpHead parsed;
  std::string_view rest = head;
  TRY(parse_status_line(TRY(take_line(rest)), parsed));
  parsed.fields = TRY(parse_fields(rest));
  TRY(check_framing(parsed));
  return parsed;
}

BodyFrame request_body(const HttpHead& head) {
  if (head.find("Transfer-Encoding")) return {Framing::kChunked, 0};
  const std::string* length = head.find("Content-Length");
  if (!length) return {};
  uint64_t bytes = parse_length(*length).value_or(0);
  return {bytes ? Framing::kLength : Framing::kNone, bytes};
}

BodyFrame response_body(const HttpHead& head, std::string_view request_method) {
  bool bodiless = head.status < 200 || head.status == 204 || head.status == 304;
  if (bodiless || request_method == "HEAD") return {};
  if (head.find("Transfer-Encoding")) return {Framing::kChunked, 0};
  const std::string* length = head.find("Content-Length");
  if (!length) return {Framing::kUntilEnd, 0};
  uint64_t bytes = parse_length(*length).value_or(0);
  return {bytes ? Framing::kLength : Framing::kNone, bytes};
}

bool is_request_target(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_target_char);
}

bool keeps_alive(const HttpHead& head) {
  if (head.lists("Connection", "close")) return false;
  return head.minor == 1 || head.lists("Connection", "keep-alive");
}

}  // namespace caisson

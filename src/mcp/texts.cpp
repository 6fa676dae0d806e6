#include "mcp/texts.h"

#include <fmt/format.h>

#include "base/text.h"
#include "http/plain_json.h"

namespace caisson::mcp {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Bytes of the character that starts here, 0 when none does (RFC 3629: no surrogates, no overlong
// forms, nothing above U+10FFFF).
size_t character_at(std::string_view text, size_t at) {
  auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  auto tail = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    bool good = tail(1) && tail(2) && !(first == 0xe0 && byte(1) < 0xa0) &&
                !(first == 0xed && byte(1) > 0x9f);
    return good ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    bool good = tail(1) && tail(2) && tail(3) && !(first == 0xf0 && byte(1) < 0x90) &&
                !(first == 0xf4 && byte(1) > 0x8f);
    return good ? 4 : 0;
  }
  return 0;
}

bool is_start(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// The first `count` characters, as a number of bytes.
size_t head_bytes(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if (is_start(text[at]) && count-- == 0) break;
  return at;
}

size_t tail_start(std::string_view text, size_t count) {
  size_t at = text.size();
  while (at > 0 && count > 0)
    if (is_start(text[--at])) --count;
  return at;
}

void indent(std::string& out, size_t depth) { out.append("\n").append(depth * 2, ' '); }

constexpr size_t kMaxPretty = 64;  // levels; deeper ones are written on one line

void write_pretty(std::string& out, const json::value& value, size_t depth);

void write_array(std::string& out, const json::array& array, size_t depth) {
  out += '[';
  for (size_t i = 0; i < array.size(); ++i) {
    if (i > 0) out += ',';
    indent(out, depth + 1);
    write_pretty(out, array[i], depth + 1);
  }
  indent(out, depth);
  out += ']';
}

void write_object(std::string& out, const json::object& object, size_t depth) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : object) {
    if (!std::exchange(first, false)) out += ',';
    indent(out, depth + 1);
    out += json::serialize(json::string(key));
    out += ": ";
    write_pretty(out, value, depth + 1);
  }
  indent(out, depth);
  out += '}';
}

void write_pretty(std::string& out, const json::value& value, size_t depth) {
  const json::array* array = value.if_array();
  const json::object* object = value.if_object();
  if (array && !array->empty() && depth < kMaxPretty) return write_array(out, *array, depth);
  if (object && !object->empty() && depth < kMaxPretty) return write_object(out, *object, depth);
  out += http::plain_json(value);
}

}  // namespace

std::string clean_utf8(std::string_view bytes) {
  if (is_valid_utf8(bytes)) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 8);
  for (size_t at = 0; at < bytes.size();) {
    size_t size = character_at(bytes, at);
    out += size > 0 ? bytes.substr(at, size) : kReplacement;
    at += size > 0 ? size : 1;
  }
  return out;
}

size_t count_characters(std::string_view utf8) {
  size_t count = 0;
  for (char c : utf8) count += is_start(c);
  return count;
}

std::string cut_middle(const std::string& text, size_t limit, std::string_view mark) {
  if (text.size() <= limit || count_characters(text) <= limit) return text;
  size_t marks = count_characters(mark);
  size_t room = limit > marks ? limit - marks : 0;
  size_t tail = room / 3, head = room - tail;
  std::string out = text.substr(0, head_bytes(text, head));
  out += mark;
  out += std::string_view(text).substr(tail_start(text, tail));
  return out;
}

std::string pretty_json(const json::value& value) {
  std::string out;
  write_pretty(out, value, 0);
  return out;
}

std::string error_line(const Error& error) {
  std::string line = "Error: " + clean_utf8(error.what);
  if (!error.hint.empty()) line += "\n" + clean_utf8(error.hint);
  return line;
}

std::string load_error_text(const Error& error, std::string_view path) {
  if (error.errnum == ENOENT || error.errnum == ENOTDIR || error.what.ends_with("no such file"))
    return fmt::format("Error: file not found: {}", clean_utf8(path));
  // A rule's refusal has no errno; it is known by its words.
  bool refused = error.what.find("may not read") != std::string::npos ||
                 error.what.find("leads out of it") != std::string::npos;
  if (refused || error.errnum == EACCES || error.errnum == EPERM || error.errnum == ELOOP)
    return fmt::format("Error: access denied — {}{}{}", clean_utf8(error.what),
                       error.hint.empty() ? "" : "\n", clean_utf8(error.hint));
  return error_line(error);
}

}  // namespace caisson::mcp

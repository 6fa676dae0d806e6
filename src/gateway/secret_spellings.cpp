#include "gateway/secret_spellings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"
#include "rules/secret_spec.h"

namespace caisson {
namespace {

constexpr std::string_view kUpperDigits = "0123456789ABCDEF";
constexpr std::string_view kLowerDigits = "0123456789abcdef";

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

void append_hex(std::string& out, char c, std::string_view digits) {
  auto byte = static_cast<unsigned char>(c);
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

std::string percent(std::string_view text, std::string_view kept, std::string_view digits) {
  std::string out;
  for (char c : text) {
    if (is_unreserved(c) || kept.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      append_hex(out, c, digits);
    }
  }
  return out;
}

std::string as_hex(std::string_view text, std::string_view digits) {
  std::string out;
  for (char c : text) append_hex(out, c, digits);
  return out;
}

std::string replaced(std::string_view text, char from, std::string_view to) {
  std::string out;
  for (char c : text) c == from ? void(out += to) : out.push_back(c);
  return out;
}

// One character off the front of valid UTF-8.
uint32_t take_character(std::string_view& text) {
  auto byte = [&text](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(text[i]));
  };
  size_t size = byte(0) < 0x80 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  uint32_t code = size == 1 ? byte(0) : byte(0) & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) code = code << 6 | (byte(i) & 0x3f);
  text.remove_prefix(size);
  return code;
}

// Python, PHP and others write characters beyond ASCII as \uXXXX.
std::string ascii_json(std::string_view text) {
  if (!is_valid_utf8(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    uint32_t code = take_character(text);
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x10000) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      code -= 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
    }
  }
  return out;
}

// Go and Gson make JSON safe to stand in HTML.
std::string html_safe_json(std::string_view text) {
  std::string out = replaced(text, '&', "\\u0026");
  return replaced(replaced(out, '<', "\\u003c"), '>', "\\u003e");
}

void add_json(std::vector<std::string>& all, std::string_view value) {
  std::string plain = replaced(replaced(value, '\\', "\\\\"), '"', "\\\"");
  plain = replaced(plain, '\t', "\\t");
  std::string slashed = replaced(plain, '/', "\\/");
  for (const std::string& text : {plain, slashed, html_safe_json(plain)}) {
    all.push_back(text);
    all.push_back(ascii_json(text));
  }
}

void add_html(std::vector<std::string>& all, std::string_view value) {
  std::string plain = replaced(value, '&', "&amp;");
  plain = replaced(replaced(plain, '<', "&lt;"), '>', "&gt;");
  constexpr std::array<std::string_view, 2> kQuotes[] = {
      {"\"", "'"}, {"&quot;", "'"}, {"&quot;", "&#x27;"}, {"&#34;", "&#39;"}, {"&quot;", "&#039;"}};
  for (const auto& [quote, apostrophe] : kQuotes)
    all.push_back(replaced(replaced(plain, '"', quote), '\'', apostrophe));
}

void add_percent(std::vector<std::string>& all, std::string_view value) {
  for (std::string_view digits : {kUpperDigits, kLowerDigits}) {
    // What encoders leave as it is: nothing, paths, encodeURIComponent, encodeURI.
    for (std::string_view kept : {"", "/", "!'()*", "!'()*;/?:@&=+$,#"}) {
      all.push_back(percent(value, kept, digits));
      if (value.find(' ') != std::string_view::npos)
        all.push_back(replaced(percent(value, std::string(kept) + ' ', digits), ' ', "+"));
    }
  }
}

void add_base64(std::vector<std::string>& all, std::string_view value) {
  for (size_t before = 0; before < 3; ++before)
    for (const std::string& text : {base64_inside(value, before), base64_at_end(value, before)}) {
      all.push_back(text);
      all.push_back(replaced(replaced(text, '+', "-"), '/', "_"));
      all.push_back(replaced(text, '/', "\\/"));  // base64 in JSON of those who escape it
    }
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

std::vector<std::string> spellings_of(std::string_view value) {
  std::vector<std::string> all{std::string(value)};
  add_json(all, value);
  add_html(all, value);
  add_percent(all, value);
  all.push_back(as_hex(value, kLowerDigits));
  all.push_back(as_hex(value, kUpperDigits));
  add_base64(all, value);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase_if(all, [](const std::string& text) { return text.size() < kMinSecretValue; });
  return all;
}

std::string percent_encoded(std::string_view text) { return percent(text, "", kUpperDigits); }

std::string base64_inside(std::string_view value, size_t before) {
  before %= 3;
  std::string text = base64(std::string(before, '\0') + std::string(value));
  size_t mixed_front = before == 0 ? 0 : before + 1;  // 8 bits touch two digits, 16 bits three
  size_t whole = (before + value.size()) * 8 / 6;     // the last one may have bits of what follows
  return text.substr(mixed_front, whole - mixed_front);
}

std::string base64_at_end(std::string_view value, size_t before) {
  before %= 3;
  std::string text = base64(std::string(before, '\0') + std::string(value));
  size_t mixed_front = before == 0 ? 0 : before + 1;
  return text.substr(mixed_front, text.find('=') - mixed_front);
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 == 0 && text.ends_with('=')) text.remove_suffix(text.ends_with("==") ? 2 : 1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    int digit = base64_digit(c);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if ((count += 6) < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  if ((bits & ((1u << count) - 1)) != 0) return std::nullopt;  // two spellings of one text
  return out;
}

}  // namespace caisson

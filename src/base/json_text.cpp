#include "base/json_text.h"

#include <cmath>

#include <fmt/format.h>

namespace caisson {

namespace {

void put_escaped(std::string& out, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '\\';
  switch (c) {
    case '"':
    case '\\':
      out += c;
      break;
    case '\b':
      out += 'b';
      break;
    case '\f':
      out += 'f';
      break;
    case '\n':
      out += 'n';
      break;
    case '\r':
      out += 'r';
      break;
    case '\t':
      out += 't';
      break;
    default:
      out += "u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
  }
}

}  // namespace

void JsonText::raw(std::string_view json) {
  if (!first_) out_ += ',';
  first_ = false;
  out_ += json;
}

void JsonText::value(std::string_view utf8) {
  raw("\"");
  size_t plain = 0;
  for (size_t i = 0; i < utf8.size(); ++i) {
    char c = utf8[i];
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') continue;
    out_ += utf8.substr(plain, i - plain);
    put_escaped(out_, c);
    plain = i + 1;
  }
  out_ += utf8.substr(plain);
  out_ += '"';
}

void JsonText::value(uint64_t number) {
  fmt::format_int digits(number);
  raw({digits.data(), digits.size()});
}

void JsonText::value(int64_t number) {
  fmt::format_int digits(number);
  raw({digits.data(), digits.size()});
}

void JsonText::value(double number) {
  if (!std::isfinite(number)) return null();  // JSON has no word for it
  std::string text = fmt::format("{}", number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  raw(text);
}

}  // namespace caisson

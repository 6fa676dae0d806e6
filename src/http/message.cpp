#include "http/message.h"

#include <algorithm>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"

namespace caisson::http {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

bool is_unreserved(char c) {
  char small = lower(c);
  return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

}  // namespace

bool same_text(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

const std::string* Request::find(std::string_view name) const {
  for (const Field& field : fields)
    if (same_text(field.name, name)) return &field.value;
  return nullptr;
}

size_t Request::count(std::string_view name) const {
  return static_cast<size_t>(
      std::ranges::count_if(fields, [&](const Field& f) { return same_text(f.name, name); }));
}

bool Request::lists(std::string_view name, std::string_view word) const {
  for (const Field& field : fields) {
    if (!same_text(field.name, name)) continue;
    for (std::string_view part : split(field.value, ','))
      if (same_text(trim(part.substr(0, part.find(';'))), word)) return true;
  }
  return false;
}

bool Request::has_type(std::string_view type) const {
  const std::string* said = find("Content-Type");
  if (!said || count("Content-Type") != 1) return false;
  return same_text(trim(std::string_view(*said).substr(0, said->find(';'))), type);
}

std::optional<std::string> Request::parameter(std::string_view name) const {
  for (std::string_view pair : split(query, '&')) {
    size_t equals = pair.find('=');
    std::optional<std::string> key = percent_decode(pair.substr(0, equals));
    if (!key || *key != name) continue;
    return equals == pair.npos ? std::string() : percent_decode(pair.substr(equals + 1));
  }
  return std::nullopt;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    int high = digit_of(text[i + 1]), low = digit_of(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

Response refusal(int status, std::string_view what, std::string_view hint) {
  boost::json::object error{{"what", what}};
  if (!hint.empty()) error["hint"] = hint;
  return {status,
          {{"Content-Type", "application/json"}},
          boost::json::serialize(boost::json::object{{"error", std::move(error)}}) + "\n"};
}

}  // namespace caisson::http

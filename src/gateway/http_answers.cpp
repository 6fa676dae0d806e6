#include "gateway/http_answers.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"

namespace caisson {
namespace {

std::string_view reason_of(unsigned status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 504:
      return "Gateway Timeout";
    default:
      return "Error";
  }
}

std::string answer(unsigned status, std::string_view phrase, std::string_view headers,
                   std::string_view json, Afterwards afterwards, std::string_view method) {
  std::string out = fmt::format(
      "HTTP/1.1 {} {}\r\n{}Content-Type: application/json\r\nCache-Control: no-store\r\n"
      "Content-Length: {}\r\n{}\r\n",
      status, phrase, headers, json.size() + 1,
      afterwards == Afterwards::kClose ? "Connection: close\r\n" : "");
  if (method != "HEAD") {
    out += json;
    out += '\n';
  }
  return out;
}

// Printable ASCII alone: a line break would make the rest of it headers.
std::string as_phrase(std::string_view reason) {
  std::string phrase;
  for (char c : reason) phrase += c >= 0x20 && c < 0x7f ? c : '?';
  return phrase;
}

}  // namespace

std::string denial_answer(const ToldDenial& denial, Afterwards afterwards, std::string_view method,
                          unsigned status) {
  std::string phrase(reason_of(status));
  if (denial.verdict.reason_given) phrase = as_phrase(denial.verdict.reason);
  return answer(status, phrase, "X-Proxy-Error: blocked-by-allowlist\r\n", denial_json(denial),
                afterwards, method);
}

std::string error_answer(unsigned status, std::string_view why, std::string_view method) {
  boost::json::object object;
  object["error"] = printable(why);
  return answer(status, reason_of(status), "", boost::json::serialize(object), Afterwards::kClose,
                method);
}

std::string dial_answer(const Dialed& dialed, std::string_view method) {
  bool late = dialed.end == DialEnd::kTimedOut || dialed.end == DialEnd::kNoAnswer;
  return error_answer(late ? 504 : 502, dialed.why, method);
}

}  // namespace caisson

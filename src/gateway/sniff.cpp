#include "gateway/sniff.h"

#include <algorithm>
#include <string_view>

#include "gateway/http_head.h"

namespace caisson {
namespace {

constexpr size_t kMaxMethod = 32;
constexpr size_t kMaxBlankLines = 64;
constexpr size_t kMaxRequestLine = 16 * 1024;
constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

bool is_method_char(unsigned char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '*' || c == '!' || c == '.' || c == '+' || c == '$' || c == '~';
}

// SSLv2's spelling of a ClientHello, which some servers still read: it names nobody.
bool is_old_hello(std::span<const uint8_t> bytes) {
  return bytes.size() >= 5 && (bytes[0] & 0x80) && bytes[2] == 1 &&
         (bytes[3] == 3 || bytes[3] == 0) && bytes[4] <= 4;
}

FirstBytes judge_line(std::string_view line) {
  // As lenient as the most lenient server: " HTTP/" anywhere makes it a request line, and then it
  // must pass the strict parser.
  for (size_t at = line.find(' '); at != line.npos; at = line.find(' ', at + 1))
    if (same_text(line.substr(at + 1, 5), "HTTP/")) return FirstBytes::kHttp1;
  return FirstBytes::kOpaque;
}

FirstBytes sniff_text(std::string_view text) {
  // Servers skip empty lines before a request: so must this, or a blank line would hide a Host.
  size_t start = std::min(text.find_first_not_of("\r\n"), text.size());
  if (start > kMaxBlankLines) return FirstBytes::kBad;
  text.remove_prefix(start);
  if (text.empty()) return FirstBytes::kNeedMore;
  if (start == 0 && kHttp2Preface.starts_with(text.substr(0, kHttp2Preface.size())))
    return text.size() >= kHttp2Preface.size() ? FirstBytes::kHttp2 : FirstBytes::kNeedMore;
  size_t method = 0;
  while (method < text.size() && method <= kMaxMethod && is_method_char(text[method])) ++method;
  if (method == 0 || method > kMaxMethod) return FirstBytes::kOpaque;
  if (method == text.size()) return FirstBytes::kNeedMore;
  if (text[method] != ' ' && text[method] != '\t') return FirstBytes::kOpaque;
  size_t end = text.find('\n');
  if (end != text.npos) return judge_line(text.substr(0, end));
  bool binary =
      std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 && c != '\t' && c != '\r'; });
  if (binary) return FirstBytes::kOpaque;
  return text.size() < kMaxRequestLine ? FirstBytes::kNeedMore : FirstBytes::kBad;
}

}  // namespace

Sniffed sniff(std::span<const uint8_t> so_far) {
  Sniffed result;
  if (so_far.empty()) return result;
  switch (parse_client_hello(so_far, result.hello, result.why)) {
    case HelloState::kNeedMore:
      return result;
    case HelloState::kDone:
      result.kind = FirstBytes::kTls;
      return result;
    case HelloState::kBad:
      result.kind = FirstBytes::kBad;
      return result;
    case HelloState::kNotTls:
      break;
  }
  if (so_far.size() < 5 && (so_far[0] & 0x80)) return result;
  if (is_old_hello(so_far)) {
    result.kind = FirstBytes::kBad;
    result.why = "a ClientHello in the form of SSLv2";
    return result;
  }
  std::string_view text{reinterpret_cast<const char*>(so_far.data()), so_far.size()};
  result.kind = sniff_text(text);
  if (result.kind == FirstBytes::kBad) result.why = "a request line without an end";
  return result;
}

}  // namespace caisson

// The one spelling of a request's path, and globs over it.
#include <algorithm>

#include "base/text.h"
#include "rules/request_rule.h"

namespace caisson {
namespace {

constexpr size_t kMaxTarget = 16 * 1024;

Error ambiguous(std::string_view why) {
  return Error::plain("the path " + std::string(why),
                      "send the path in its plain spelling: no '.', '..' or empty segments, no "
                      "encoded slashes");
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte that stands at text[at] as %XX, -1 when it isn't one.
int escaped_byte(std::string_view text, size_t at) {
  if (at + 2 >= text.size() || text[at] != '%') return -1;
  int high = hex_value(text[at + 1]), low = hex_value(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool is_unreserved(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// RFC 3986, 6.2.2: escapes of unreserved characters undone, the others in upper case.
Result<std::string> unescape(std::string_view text) {
  std::string out, bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i];
    if (c <= 0x20 || c >= 0x7f)
      return ambiguous("has a control byte, a space or a byte outside ASCII");
    if (c == '#') return ambiguous("has a '#'");
    if (c != '%') {
      out += text[i], bytes += text[i];
      continue;
    }
    int byte = escaped_byte(text, i);
    if (byte < 0) return ambiguous("has a '%' that begins no escape");
    bytes += static_cast<char>(byte);
    if (is_unreserved(byte)) {
      out += static_cast<char>(byte);
    } else {
      constexpr char kHex[] = "0123456789ABCDEF";
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
    i += 2;
  }
  // Overlong forms: %C0%AF was a slash to more than one server.
  if (!is_valid_utf8(bytes)) return ambiguous("has escapes that aren't UTF-8");
  return out;
}

// In a path as unescape() leaves it. Servers differ in what they make of these before they look up
// the path, so a rule for one path could let another through.
const char* escape_fault(std::string_view path) {
  for (size_t at = path.find('%'); at != path.npos; at = path.find('%', at + 1)) {
    int byte = escaped_byte(path, at);
    if (byte == '/' || byte == '\\') return "has an encoded slash or backslash";
    if (byte < 0x20 || byte == 0x7f) return "has an encoded control byte";
    // %252e: a server that decodes twice sees a dot. Three bytes on begins what %25 escapes.
    if (byte == '%' && at + 4 < path.size() && hex_value(path[at + 3]) >= 0 &&
        hex_value(path[at + 4]) >= 0)
      return "has an escape of an escape";
  }
  return nullptr;
}

const char* segment_fault(std::string_view path) {
  for (size_t start = 1; start <= path.size();) {
    size_t end = std::min(path.find('/', start), path.size());
    std::string_view segment = path.substr(start, end - start);
    if (segment.empty() && end < path.size()) return "has a doubled slash";
    // Java servers drop what follows ';' and then see "..".
    segment = segment.substr(0, std::min(segment.find(';'), segment.find("%3B")));
    while (segment.ends_with("%20")) segment.remove_suffix(3);  // Windows drops spaces at the end
    if (segment == "." || segment == "..") return "has a '.' or '..' segment";
    start = end + 1;
  }
  return nullptr;
}

}  // namespace

Result<RequestPath> canonical_path(std::string_view target) {
  if (target.size() > kMaxTarget) return ambiguous("is longer than 16 KiB");
  if (!target.starts_with('/')) return ambiguous("doesn't begin with '/'");
  size_t mark = target.find('?');
  RequestPath out;
  out.path = TRY(unescape(target.substr(0, mark)));
  if (out.path.find('\\') != out.path.npos) return ambiguous("has a backslash");
  if (const char* fault = escape_fault(out.path)) return ambiguous(fault);
  if (const char* fault = segment_fault(out.path)) return ambiguous(fault);
  if (mark == target.npos) return out;
  out.has_query = true;
  out.query = TRY(unescape(target.substr(mark + 1)));
  return out;
}

bool glob_matches(std::string_view glob, std::string_view text) {
  size_t star = glob.find('*');
  if (star == glob.npos) return glob == text;
  if (!text.starts_with(glob.substr(0, star))) return false;
  text.remove_prefix(star);
  glob.remove_prefix(star + 1);
  // The earliest place for each piece is as good as any other: no going back, no blow-up.
  for (star = glob.find('*'); star != glob.npos; star = glob.find('*')) {
    std::string_view piece = glob.substr(0, star);
    size_t at = text.find(piece);
    if (at == text.npos) return false;
    text.remove_prefix(at + piece.size());
    glob.remove_prefix(star + 1);
  }
  return text.ends_with(glob);
}

}  // namespace caisson

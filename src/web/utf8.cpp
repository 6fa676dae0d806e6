#include "web/utf8.h"

#include <utility>

namespace caisson::web {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

struct Character {
  size_t length = 1;   // bytes that belong together
  bool valid = false;  // they are a character
  bool cut = false;    // they may be the beginning of one
};

bool is_tail(unsigned char c) { return (c & 0xc0) == 0x80; }

// By the table of well-formed sequences (Unicode 3.9): no overlong forms, no surrogates, nothing
// above U+10FFFF.
Character first_of(std::string_view text) {
  auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = at(0);
  if (lead < 0x80) return {1, true};
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return {};
  unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {i, false, true};
    bool fits = i == 1 ? at(1) >= low && at(1) <= high : is_tail(at(i));
    if (!fits) return {i, false};
  }
  return {length, true};
}

// `rest`: where the beginning of a character goes that isn't all there.
std::string convert(std::string_view bytes, std::string& rest) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    Character found = first_of(bytes);
    if (found.cut) {
      rest = bytes;
      break;
    }
    out += found.valid ? bytes.substr(0, found.length) : kReplacement;
    bytes.remove_prefix(found.length);
  }
  return out;
}

}  // namespace

std::string lossy_utf8(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.feed(bytes);
  return text + stream.finish();
}

std::string Utf8Stream::feed(std::string_view bytes) {
  if (held_.empty()) return convert(bytes, held_);
  std::string all = std::exchange(held_, {});
  all += bytes;
  return convert(all, held_);
}

std::string Utf8Stream::finish() {
  return std::exchange(held_, {}).empty() ? std::string() : std::string(kReplacement);
}

}  // namespace caisson::web

#include "base/text.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace caisson {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  for (size_t at; (at = text.find(separator, start)) != std::string_view::npos; start = at + 1)
    parts.push_back(text.substr(start, at - start));
  parts.push_back(text.substr(start));
  return parts;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

// Levenshtein distance, one row at a time.
static size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t substitute = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

std::string shell_quote(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string out = "'";
  for (char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

static char hex_digit(unsigned value) { return "0123456789abcdef"[value & 15]; }

// The length of the well-formed sequence at the front of `text`, 0 if it is not one
// (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing past U+10FFFF).
static size_t utf8_sequence(std::string_view text) {
  auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  auto tail = [&](size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    unsigned low = lead == 0xe0 ? 0xa0 : 0x80, high = lead == 0xed ? 0x9f : 0xbf;
    return tail(1, low, high) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    unsigned low = lead == 0xf0 ? 0x90 : 0x80, high = lead == 0xf4 ? 0x8f : 0xbf;
    return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

// U+0080…U+009F: some terminals obey U+009B as they obey ESC [.
static bool is_c1_control(std::string_view sequence) {
  return sequence.size() == 2 && sequence[0] == '\xc2' &&
         static_cast<unsigned char>(sequence[1]) < 0xa0;
}

static char32_t code_point(std::string_view sequence) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return byte(0);
  char32_t point = byte(0) & (0x7fu >> sequence.size());
  for (size_t i = 1; i < sequence.size(); ++i) point = point << 6 | (byte(i) & 0x3f);
  return point;
}

// What a person does not see, and what turns the order of what he sees: "txt.exe" can read as
// "exe.txt" (CVE-2021-42574), a name can hold more than it shows, and a separator can end the line.
static bool is_invisible(std::string_view sequence) {
  if (sequence.size() < 2) return false;
  struct Range {
    char32_t first, last;
  };
  constexpr Range kRanges[] = {
      {0x00ad, 0x00ad},    // soft hyphen
      {0x061c, 0x061c},    // Arabic letter mark
      {0x180e, 0x180e},    // Mongolian vowel separator
      {0x200b, 0x200b},    // zero-width space; its joiners U+200C and U+200D belong to scripts
      {0x200e, 0x200f},    // left-to-right and right-to-left marks
      {0x2028, 0x202e},    // separators of lines and paragraphs, embeddings and overrides
      {0x2060, 0x206f},    // word joiner, invisible operators, isolates, deprecated controls
      {0xfeff, 0xfeff},    // byte order mark
      {0xfff9, 0xfffb},    // interlinear annotation
      {0xe0000, 0xe007f},  // tags
  };
  char32_t point = code_point(sequence);
  return std::ranges::any_of(
      kRanges, [&](const Range& one) { return point >= one.first && point <= one.last; });
}

static void append_escaped(std::string& out, std::string_view bytes) {
  for (unsigned char c : bytes) {
    out += "\\x";
    out += hex_digit(c >> 4);
    out += hex_digit(c);
  }
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t length = utf8_sequence(text);
    std::string_view one = text.substr(0, length ? length : 1);
    bool control = static_cast<unsigned char>(one[0]) < 0x20 || one[0] == 0x7f;
    if (length == 0 || control || is_c1_control(one) || is_invisible(one))
      append_escaped(out, one);
    else
      out += one;
    text.remove_prefix(one.size());
  }
  return out;
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    uint64_t eight = 0;  // of ASCII at once: most texts are nothing else
    if (text.size() >= sizeof eight) {
      std::memcpy(&eight, text.data(), sizeof eight);
      if (!(eight & 0x8080808080808080u)) {
        text.remove_prefix(sizeof eight);
        continue;
      }
    }
    size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string base64(std::string_view bytes) {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    size_t have = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < have ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) out += j <= have ? kAlphabet[group >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

std::string hex(std::span<const unsigned char> bytes) {
  std::string out(bytes.size() * 2, '\0');
  size_t at = 0;
  for (unsigned char b : bytes) out[at++] = hex_digit(b >> 4), out[at++] = hex_digit(b);
  return out;
}

}  // namespace caisson

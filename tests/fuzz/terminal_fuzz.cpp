// The filter between a program's output and a person's terminal. The first byte chooses the mode
// and where the input is split; the output is read by a second, simpler reader that knows no more
// than what may be there.
#include <algorithm>
#include <cstdint>

#include "base/terminal_filter.h"
#include "base/terminal_rules.h"
#include "require.h"

namespace caisson {
namespace {

using Mode = TerminalFilter::Mode;

struct Output {
  std::string fed, finish;
  bool operator==(const Output&) const = default;
};

Output filter(std::string_view text, Mode mode, size_t step) {
  TerminalFilter one(mode);
  Output output;
  for (; !text.empty(); text.remove_prefix(std::min(step, text.size())))
    output.fed += one.feed(text.substr(0, step));
  output.finish = one.finish();
  REQUIRE(one.finish().empty());
  return output;
}

// Reads one sequence off the front of `text`, which begins behind its ESC.
class SequenceReader {
 public:
  SequenceReader(std::string_view& text, Mode mode) : text_(text), mode_(mode) {}

  void read() {
    REQUIRE(!text_.empty());
    if (text_[0] == '[') return control_sequence();
    REQUIRE(mode_ == Mode::kInteractive);
    if (text_[0] == ']') return osc();
    std::string_view intermediates = take_while(0x20, 0x2f);
    REQUIRE(may_pass_escape(intermediates, take()));
  }

 private:
  char take() {
    REQUIRE(!text_.empty());
    char c = text_[0];
    text_.remove_prefix(1);
    return c;
  }
  std::string_view take_while(char low, char high) {
    size_t size = 0;
    while (size < text_.size() && text_[size] >= low && text_[size] <= high) ++size;
    std::string_view taken = text_.substr(0, size);
    text_.remove_prefix(size);
    return taken;
  }
  void control_sequence() {
    take();
    std::string_view parameters = take_while(0x20, 0x3f);
    char final = take();
    REQUIRE(parameters.size() <= TerminalFilter::kMaxSequence);
    REQUIRE(final >= 0x40 && final < 0x7f);
    if (mode_ == Mode::kPlain) {
      REQUIRE(final == 'm');
      REQUIRE(parameters.find_first_not_of("0123456789;:") == std::string_view::npos);
    } else {
      REQUIRE(may_pass_control_sequence(parameters, final));
      REQUIRE(final != 'i');  // printing
    }
  }
  void osc() {
    take();
    size_t end = text_.find_first_of("\a\x1b");
    REQUIRE(end != std::string_view::npos && end <= TerminalFilter::kMaxString);
    std::string_view payload = text_.substr(0, end);
    REQUIRE(fuzz::is_one_printable_line(payload));
    REQUIRE(!payload.starts_with("52;") && !payload.starts_with("8;"));  // clipboard, links
    text_.remove_prefix(end);
    if (take() == '\x1b') REQUIRE(take() == '\\');
  }

  std::string_view& text_;
  Mode mode_;
};

void require_harmless(std::string_view text, Mode mode) {
  REQUIRE(is_valid_utf8(text));
  const std::string_view codes = mode == Mode::kPlain ? "\n\t\r\b\a" : "\n\t\r\b\a\v\f\x0e\x0f";
  while (!text.empty()) {
    unsigned char c = text[0], next = text.size() > 1 ? text[1] : 0;
    text.remove_prefix(1);
    if (c == 0x1b) {
      SequenceReader(text, mode).read();
      continue;
    }
    REQUIRE(c >= 0x20 || codes.find(static_cast<char>(c)) != std::string_view::npos);
    REQUIRE(c != 0x7f && !(c == 0xc2 && next < 0xa0));
  }
}

bool is_plain_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); });
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  if (size == 0) return 0;
  Mode mode = data[0] & 1 ? Mode::kInteractive : Mode::kPlain;
  size_t step = 1 + (data[0] >> 1) % 32;
  std::string_view text = fuzz::as_text(data + 1, size - 1);

  Output output = filter(text, mode, SIZE_MAX);
  REQUIRE(filter(text, mode, step) == output);
  REQUIRE(filter(text, mode, 1) == output);
  // What stands between two pieces must not matter either: the end is part of the same text.
  require_harmless(output.fed, mode);
  require_harmless(output.finish, Mode::kInteractive);
  REQUIRE(output.fed.size() <= 3 * text.size());  // a broken byte becomes U+FFFD
  if (is_plain_text(text)) REQUIRE(output.fed == text && output.finish.empty());
  // Twice through the filter is once: it undoes the same, and drops nothing that it let pass.
  if (output.finish.find("\xef\xbf\xbd") == std::string::npos)
    REQUIRE(filter(output.fed, mode, SIZE_MAX) == output);
  return 0;
}

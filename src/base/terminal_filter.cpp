// The shape of this machine is that of real terminals (ECMA-48; vt100.net/emu/dec_ansi_parser):
// both must agree where a sequence ends, or the rest of one becomes text, or text becomes a
// sequence. Nothing of a sequence is written before its last byte is known.
#include "base/terminal_filter.h"

#include <stdlib.h>

#include <utility>

#include "base/terminal_rules.h"
#include "base/text.h"

namespace caisson {

namespace {

constexpr unsigned char kBell = 0x07, kShiftOut = 0x0e, kShiftIn = 0x0f;
constexpr unsigned char kCancel = 0x18, kSubstitute = 0x1a, kEscapeByte = 0x1b, kDelete = 0x7f;
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// U+0080 to U+009F: some terminals obey these even as UTF-8 (U+009B is CSI).
bool is_c1(std::string_view character) {
  return character.size() == 2 && character[0] == '\xc2' &&
         static_cast<unsigned char>(character[1]) < 0xa0;
}

size_t ascii_run(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && text[size] >= 0x20 && text[size] < kDelete) ++size;
  return size;
}

// What may stand in a string that passes: text, nothing that could end it early.
bool is_text(std::string_view text) {
  if (!is_valid_utf8(text)) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i];
    if (c < 0x20 || c == kDelete || is_c1(text.substr(i, 2))) return false;
  }
  return true;
}

}  // namespace

std::string TerminalFilter::feed(std::string_view bytes) {
  out_.reserve(bytes.size() + 16);
  while (!bytes.empty()) {
    // Most of what programs write: a run of plain text, taken as one piece.
    if (size_t run = state_ == State::kGround && character_.empty() ? ascii_run(bytes) : 0) {
      out_ += bytes.substr(0, run);
      bytes.remove_prefix(run);
    } else {
      byte(static_cast<unsigned char>(bytes[0]));
      bytes.remove_prefix(1);
    }
  }
  return std::exchange(out_, {});
}

std::string TerminalFilter::finish() {
  if (!character_.empty()) replace();
  character_.clear();
  begin(State::kGround);
  out_ += std::exchange(undo_, {}).text();
  return std::exchange(out_, {});
}

void TerminalFilter::begin(State state) {
  state_ = state;
  held_.clear();
  dropped_ = false;
  after_escape_ = false;
}

void TerminalFilter::hold(unsigned char c, size_t limit) {
  if (held_.size() == limit) dropped_ = true;
  if (!dropped_) held_ += static_cast<char>(c);
}

void TerminalFilter::replace() { out_ += charset_ == Charset::kUtf8 ? kReplacement : "?"; }

void TerminalFilter::byte(unsigned char c) {
  if (state_ == State::kString) return string(c);
  if (!character_.empty()) {
    if (c >= low_ && c <= high_) return tail_byte(c);
    replace();  // broken off: what follows counts by itself
    character_.clear();
  }
  if (c < 0x20) return control_code(c);
  if (c == kDelete) return;
  // No byte above 0x7f belongs to a sequence: it ends there, unfinished.
  if (c >= 0x80) begin(State::kGround);
  switch (state_) {
    case State::kEscape:
      return escape(c);
    case State::kControl:
      return control_sequence(c);
    default:
      break;
  }
  if (c >= 0x80) return lead_byte(c);
  out_ += static_cast<char>(c);
}

// Terminals obey control codes even in the middle of a sequence, which then goes on.
// Dropped in both modes: NUL, ENQ (0x05; the terminal types its answer-back text), XON, XOFF and
// the other codes of serial lines.
void TerminalFilter::control_code(unsigned char c) {
  constexpr std::string_view kPlainCodes = "\n\t\r\b\a", kMoreCodes = "\v\f\x0e\x0f";
  if (c == kEscapeByte) return begin(State::kEscape);
  if (c == kCancel || c == kSubstitute) return begin(State::kGround);
  char code = static_cast<char>(c);
  bool more = mode_ == Mode::kInteractive && kMoreCodes.find(code) != std::string_view::npos;
  if (more && (c == kShiftOut || c == kShiftIn)) undo_.saw_shift();
  if (more || kPlainCodes.find(code) != std::string_view::npos) out_ += code;
}

// The bounds of the second byte (Unicode 15, table 3-7) rule out overlong forms, surrogates and
// what lies beyond U+10FFFF.
void TerminalFilter::lead_byte(unsigned char c) {
  length_ = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
  if (c < 0xc2 || c > 0xf4) return replace();
  character_ = static_cast<char>(c);
  low_ = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
  high_ = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
}

void TerminalFilter::tail_byte(unsigned char c) {
  character_ += static_cast<char>(c);
  low_ = 0x80, high_ = 0xbf;
  if (character_.size() < length_) return;
  if (charset_ == Charset::kAscii)
    replace();
  else if (!is_c1(character_))
    out_ += character_;
  character_.clear();
}

void TerminalFilter::escape(unsigned char c) {
  if (c < 0x30) return hold(c, kMaxSequence);
  if (held_.empty() && c == '[') return begin(State::kControl);
  // OSC, DCS, SOS, PM, APC, and the title of screen and tmux. Of these only an OSC can pass: DCS
  // holds DECRQSS and XTGETTCAP (typed back with the program's own text, CVE-2022-45872), DECUDK
  // (keys that type commands), macros, and tmux's way around every filter; pictures (sixel) aren't
  // worth telling them apart.
  if (held_.empty() && std::string_view("]PX^_k").find(c) != std::string_view::npos) {
    is_osc_ = c == ']';
    return begin(State::kString);
  }
  end_escape(static_cast<char>(c));
  begin(State::kGround);
}

void TerminalFilter::control_sequence(unsigned char c) {
  if (c >= 0x40) {
    end_control_sequence(static_cast<char>(c));
    return begin(State::kGround);
  }
  bool parameter_after_intermediate = c >= 0x30 && !held_.empty() && held_.back() < 0x30;
  if (parameter_after_intermediate) dropped_ = true;
  hold(c, kMaxSequence);
}

void TerminalFilter::string(unsigned char c) {
  if (after_escape_) {
    if (c == '\\') return end_string("\x1b\\");
    begin(State::kEscape);  // an ESC ends the string whatever follows, and begins its own sequence
    return byte(c);
  }
  if (c == kEscapeByte) {
    after_escape_ = true;
  } else if (c == kBell && is_osc_) {
    end_string("\a");
  } else if (c == kCancel || c == kSubstitute) {
    begin(State::kGround);
  } else if (c == '\n' && mode_ == Mode::kPlain) {
    // A stray ESC ] must not swallow the rest of a log; its beginning is gone, so it can do no
    // harm.
    begin(State::kGround);
    out_ += '\n';
  } else {
    hold(c, kMaxString);
  }
}

void TerminalFilter::end_escape(char final) {
  if (mode_ == Mode::kPlain || dropped_ || !may_pass_escape(held_, final)) return;
  undo_.saw_escape(held_, final);
  out_ += '\x1b';
  out_ += held_;
  out_ += final;
}

void TerminalFilter::end_control_sequence(char final) {
  bool pass = mode_ == Mode::kPlain ? final == 'm' && is_plain_parameters(held_)
                                    : may_pass_control_sequence(held_, final);
  if (dropped_ || !pass) return;
  undo_.saw_control_sequence(held_, final);
  out_ += "\x1b[";
  out_ += held_;
  out_ += final;
}

void TerminalFilter::end_string(std::string_view terminator) {
  bool is_readable = charset_ == Charset::kUtf8 ? is_text(held_) : ascii_run(held_) == held_.size();
  bool pass =
      mode_ == Mode::kInteractive && is_osc_ && !dropped_ && is_readable && may_pass_osc(held_);
  if (pass) {
    out_ += "\x1b]";
    out_ += held_;
    out_ += terminator;  // the answer to a question ends as the question did
  }
  begin(State::kGround);
}

// "de_DE.ISO-8859-1", "de_DE@euro", "ja_JP.eucJP". None, C and POSIX say nothing about the
// terminal, which reads UTF-8 in a container or over ssh as well.
TerminalFilter::Charset charset_of_locale(std::string_view all, std::string_view ctype,
                                          std::string_view lang) {
  std::string_view locale = !all.empty() ? all : !ctype.empty() ? ctype : lang;
  if (locale.empty() || locale == "C" || locale == "POSIX") return TerminalFilter::Charset::kUtf8;
  std::string letters;
  for (char c : locale)
    if (c != '-') letters += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  bool is_utf8 = letters.find("utf8") != std::string::npos;
  return is_utf8 ? TerminalFilter::Charset::kUtf8 : TerminalFilter::Charset::kAscii;
}

TerminalFilter::Charset charset_of_caller() {
  auto value = [](const char* name) {
    const char* found = ::getenv(name);
    return std::string_view(found ? found : "");
  };
  return charset_of_locale(value("LC_ALL"), value("LC_CTYPE"), value("LANG"));
}

}  // namespace caisson

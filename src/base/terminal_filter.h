// Output of a program that nobody trusts, on its way to a person's terminal (T42).
//
// A terminal obeys what it prints: escape sequences set the clipboard (OSC 52), hide text, open
// links, print, write files, or make the terminal type text of the program's choice into whatever
// reads it next, such as the shell after the program is gone. Only what is known to be harmless
// passes; what is not known is dropped.
//
// The terminal is taken to read UTF-8, unless the caller's locale names another charset: there the
// second byte of an "ś" would be a CSI of its own, and only ASCII passes.
#pragma once

#include <string>
#include <string_view>

#include "base/terminal_undo.h"

namespace caisson {

class TerminalFilter {
 public:
  enum class Mode {
    kPlain,        // text and colours: \n \t \r \b \a and CSI … m
    kInteractive,  // full-screen programs (--tty): cursor, screens, mouse, titles, queries
  };
  enum class Charset { kUtf8, kAscii };
  explicit TerminalFilter(Mode mode, Charset charset = Charset::kUtf8)
      : mode_(mode), charset_(charset) {}

  // The safe part of these bytes. Sequences and characters may be split over calls at any byte; at
  // most kMaxString bytes are held back.
  std::string feed(std::string_view bytes);

  // The end of the output: what was held back, and what undoes the modes and colours that the
  // program left set.
  std::string finish();

  static constexpr size_t kMaxSequence = 128;  // parameters of an escape sequence
  static constexpr size_t kMaxString = 512;    // payload of an OSC

 private:
  enum class State { kGround, kEscape, kControl, kString };

  void replace();
  void byte(unsigned char c);
  void control_code(unsigned char c);
  void lead_byte(unsigned char c);
  void tail_byte(unsigned char c);
  void escape(unsigned char c);
  void control_sequence(unsigned char c);
  void string(unsigned char c);
  void begin(State state);
  void hold(unsigned char c, size_t limit);
  void end_escape(char final);
  void end_control_sequence(char final);
  void end_string(std::string_view terminator);

  Mode mode_;
  Charset charset_;
  State state_ = State::kGround;
  std::string out_;
  std::string held_;           // what stands between the introducer and the byte at hand
  bool dropped_ = false;       // the sequence at hand is read to its end, but never passed
  bool after_escape_ = false;  // inside a string, behind an ESC: '\' would end it
  bool is_osc_ = false;        // the string at hand
  std::string character_;      // the beginning of a UTF-8 character
  size_t length_ = 0;          // its length, when it is whole
  unsigned char low_ = 0x80, high_ = 0xbf;  // the bounds of its next byte
  TerminalUndo undo_;
};

// What a terminal reads under this locale: the values of LC_ALL, LC_CTYPE and LANG, of which the
// first that is set counts (locale(7)).
TerminalFilter::Charset charset_of_locale(std::string_view all, std::string_view ctype,
                                          std::string_view lang);
// The same of our own caller.
TerminalFilter::Charset charset_of_caller();

}  // namespace caisson

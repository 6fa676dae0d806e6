// Remembers what passed sequences have set in a terminal, and knows the text that undoes it: a
// program that is killed leaves no hidden cursor, no mouse reports, no colours to the shell after
// it.
#pragma once

#include <bitset>
#include <string>
#include <string_view>

namespace caisson {

class TerminalUndo {
 public:
  void saw_control_sequence(std::string_view parameters, char final);
  void saw_escape(std::string_view intermediates, char final);
  void saw_shift() { set_[kCharset] = true; }
  std::string text() const;

 private:
  enum Setting { kColour, kCharset, kKeypad, kInsert, kMargins, kShape, kModifiers, kSettings };
  void saw_modes(std::string_view numbers, char final);
  void saw_keyboard(std::string_view parameters);

  std::bitset<kSettings> set_;
  std::bitset<64> modes_;   // by place in terminal_modes(): not as a new terminal has them
  unsigned keyboards_ = 0;  // how often the keyboard's flags were pushed (kitty's protocol)
};

}  // namespace caisson

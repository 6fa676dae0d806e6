// Remembers what passed sequences have set in a terminal, and knows the text that undoes it: a
// program that is killed leaves no hidden cursor, no mouse reports, no invisible text to the shell
// after it.
//
// The program may want to leave something behind. So whatever may have set a thing counts as having
// set it, and only what resets it in every terminal counts as a reset: undoing twice does no harm.
#pragma once

#include <array>
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
  // In the order in which they are undone.
  enum Setting {
    kColour,
    kProtected,
    kCharset,
    kKeypad,
    kInsert,
    kNewline,
    kBrightCursor,
    kMargins,
    kShape,
    kConsoleShape,
    kOtherKeys,
    kModifiers,
    kKeyFormats,
    kShiftKey,
    kPointer,
    kSettings
  };
  // Flags of kitty's keyboard protocol; each of the two screens has its own.
  struct Keyboard {
    unsigned pushed = 0;   // how often they were pushed; pushed by others before us stays
    bool flagged = false;  // set without a push
    std::string undo() const;
  };

  void saw_plain(std::string_view numbers, char final);
  void saw_modes(std::string_view numbers, char final);
  void saw_ansi_modes(std::string_view numbers, char final);
  void saw_keyboard(std::string_view parameters);
  void saw_modifiers(std::string_view numbers, char final);
  void cursor_saved();
  void cursor_restored();
  bool on_other_screen() const;

  std::bitset<kSettings> set_, saved_;
  std::bitset<4> charsets_;              // G0 to G3: not ASCII
  std::bitset<64> modes_, saved_modes_;  // by place in terminal_modes(): not as a new terminal
  std::array<Keyboard, 2> keyboards_;    // of the screen, and of the other screen
};

}  // namespace caisson

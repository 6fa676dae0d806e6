#include "base/terminal_undo.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/terminal_rules.h"
#include "base/text.h"

namespace caisson {

namespace {

constexpr unsigned kMaxKeyboards = 9;

constexpr std::string_view kUndo[] = {
    "\x1b[0m",     // colours
    "\x1b(B\x0f",  // character sets
    "\x1b>",       // keypad
    "\x1b[4l",     // insert mode
    "\x1b"
    "7\x1b[r\x1b"
    "8",         // margins; setting them moves the cursor home
    "\x1b[0 q",  // shape of the cursor
    "\x1b[>4m",  // modified keys
};

// CSI m: the last reset in it counts, and what comes behind.
bool leaves_colour(std::string_view parameters) {
  return !(parameters.empty() || parameters == "0" || parameters.ends_with(";0") ||
           parameters.ends_with(';'));
}

unsigned small_number(std::string_view text) {
  unsigned value = 0;
  for (char c : text.substr(0, 2))
    if (c >= '0' && c <= '9') value = value * 10 + (c - '0');
  return value;
}

}  // namespace

void TerminalUndo::saw_modes(std::string_view numbers, char final) {
  std::span<const TerminalMode> known = terminal_modes();
  for (std::string_view number : split(numbers, ';'))
    for (size_t i = 0; i < known.size(); ++i) {
      if (number != std::to_string(known[i].number)) continue;
      // Restoring (r) may have set it: undoing twice does no harm.
      modes_[i] = final == 'r' || (final == 'h') != known[i].on_by_default;
    }
}

// CSI > n u pushes, CSI < n u pops n. Pushed by others before us stays.
void TerminalUndo::saw_keyboard(std::string_view parameters) {
  if (parameters.starts_with('>')) keyboards_ = std::min(keyboards_ + 1, kMaxKeyboards);
  if (parameters.starts_with('<'))
    keyboards_ -= std::min(keyboards_, std::max(1u, small_number(parameters.substr(1))));
}

void TerminalUndo::saw_control_sequence(std::string_view parameters, char final) {
  bool marked = !parameters.empty() && parameters[0] >= '<' && parameters[0] <= '?';
  bool plain = is_plain_parameters(parameters);
  if (parameters.starts_with('?') && (final == 'h' || final == 'l' || final == 'r'))
    saw_modes(parameters.substr(1), final);
  else if (plain && final == 'm')
    set_[kColour] = leaves_colour(parameters);
  else if (plain && (final == 'h' || final == 'l'))
    set_[kInsert] = final == 'h';
  else if (plain && final == 'r')
    set_[kMargins] = !parameters.empty();
  else if (final == 'q' && parameters.ends_with(' '))
    set_[kShape] = parameters != " " && parameters != "0 ";
  else if (final == 'm' && parameters.starts_with(">4"))
    set_[kModifiers] = parameters != ">4" && parameters != ">4;0";
  else if (final == 'u' && marked)
    saw_keyboard(parameters);
}

void TerminalUndo::saw_escape(std::string_view intermediates, char final) {
  if (intermediates.empty() && final == 'c') *this = {};
  if (intermediates.empty() && (final == '=' || final == '>')) set_[kKeypad] = final == '=';
  if (intermediates == "(") set_[kCharset] = final != 'B';
}

std::string TerminalUndo::text() const {
  std::string out;
  std::span<const TerminalMode> known = terminal_modes();
  for (size_t i = 0; i < known.size(); ++i)
    if (modes_[i])
      out += fmt::format("\x1b[?{}{}", known[i].number, known[i].on_by_default ? 'h' : 'l');
  if (keyboards_) out += fmt::format("\x1b[<{}u", keyboards_);
  for (size_t i = 0; i < kSettings; ++i)
    if (set_[i]) out += kUndo[i];
  return out;
}

}  // namespace caisson

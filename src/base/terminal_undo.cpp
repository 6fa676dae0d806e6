#include "base/terminal_undo.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/terminal_rules.h"
#include "base/text.h"

namespace caisson {

namespace {

constexpr unsigned kMostPushed = 99999;
// Terminals read so many parameters of a sequence at least; what stands behind them, some leave out
// (the Linux console reads 16, and others drop the whole sequence).
constexpr size_t kSurelyRead = 8;

constexpr std::string_view kUndo[] = {
    "\x1b[0m",                       // colours
    "\x1b[0\"q",                     // protected characters
    "\x1b(B\x1b)B\x1b*B\x1b+B\x0f",  // character sets, all four
    "\x1b>",                         // keypad
    "\x1b[4l",                       // insert mode
    "\x1b[20l",                      // a new line at every line feed
    "\x1b[34h",                      // screen and tmux: a cursor that is not too visible
    "\0337\x1b[r\0338",              // margins; setting them moves the cursor home
    "\x1b[0 q",                      // shape of the cursor
    "\x1b[?0c",                      // the same on the Linux console, where 1 hides it
    "\x1b[>4m",                      // modified keys
    "\x1b[>m",                       // all other keys
    "\x1b[>f",                       // how they are told
    "\x1b[>s",                       // what shift does to the mouse
    "\x1b[>p",                       // a pointer that hides
};

unsigned number_or_zero(std::string_view text) {
  unsigned value = 0;
  for (char c : text)
    if (c >= '0' && c <= '9') value = value * 10 + (c - '0');
  return value;
}

bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

size_t place_of_mode(unsigned value) {
  std::span<const TerminalMode> known = terminal_modes();
  return static_cast<size_t>(std::ranges::find(known, value, &TerminalMode::number) -
                             known.begin());
}

}  // namespace

bool TerminalUndo::on_other_screen() const {
  return modes_[place_of_mode(47)] || modes_[place_of_mode(1047)] || modes_[place_of_mode(1049)];
}

// DECSC and its kin keep colours, character sets and the origin with the cursor: what was saved
// while they were set can come back after they have been reset.
void TerminalUndo::cursor_saved() {
  saved_ |= set_;
  if (charsets_.any()) saved_[kCharset] = true;
  saved_modes_[place_of_mode(6)] = saved_modes_[place_of_mode(6)] || modes_[place_of_mode(6)];
}

void TerminalUndo::cursor_restored() {
  for (Setting one : {kColour, kProtected, kCharset}) set_[one] = set_[one] || saved_[one];
  modes_ |= saved_modes_;
}

void TerminalUndo::saw_modes(std::string_view numbers, char final) {
  std::vector<std::string_view> all = split(numbers, ';');
  for (std::string_view text : all) {
    unsigned value = number_or_zero(text);
    size_t place = place_of_mode(value);
    if (place == terminal_modes().size()) continue;
    bool has_cursor = value == 1048 || value == 1049;
    if (has_cursor && final == 'h') cursor_saved();
    if (has_cursor && final != 'h') cursor_restored();
    // Restoring (r) may have set it.
    if (final == 'r' || (final == 'h') != terminal_modes()[place].on_by_default)
      modes_[place] = true;
    else if (all.size() <= kSurelyRead)
      modes_[place] = false;
  }
}

void TerminalUndo::saw_ansi_modes(std::string_view numbers, char final) {
  std::vector<std::string_view> all = split(numbers, ';');
  for (std::string_view text : all) {
    unsigned value = number_or_zero(text);
    bool is_set = (final == 'h') == (value != 34);  // 34: h is how it was
    if (!is_set && all.size() > kSurelyRead) continue;
    if (value == 4) set_[kInsert] = is_set;
    if (value == 20) set_[kNewline] = is_set;
    if (value == 34) set_[kBrightCursor] = is_set;
  }
}

// CSI > flags u pushes, CSI < n u pops n, CSI = flags ; how u sets what is on top.
void TerminalUndo::saw_keyboard(std::string_view parameters) {
  Keyboard& keyboard = keyboards_[on_other_screen()];
  std::string_view numbers = parameters.substr(1);
  if (parameters[0] == '>') keyboard.pushed = std::min(keyboard.pushed + 1, kMostPushed);
  if (parameters[0] == '=') keyboard.flagged = true;  // and a later pop may bring it back
  if (parameters[0] != '<') return;
  unsigned popped = numbers.empty() ? 1 : number_or_zero(split(numbers, ';')[0]);
  keyboard.pushed -= std::min(keyboard.pushed, popped);
}

std::string TerminalUndo::Keyboard::undo() const {
  std::string out;
  if (pushed) out += fmt::format("\x1b[<{}u", pushed);
  if (flagged) out += "\x1b[=0u";
  return out;
}

// CSI > which ; value m, CSI > which n. Without any number it is the way back for all of them.
void TerminalUndo::saw_modifiers(std::string_view numbers, char final) {
  std::vector<std::string_view> all = split(numbers, ';');
  bool is_reset = all.size() == 1 || (all.size() == 2 && is_zero(all[1]));
  if (numbers.empty() && final == 'm')
    set_[kOtherKeys] = set_[kModifiers] = false;
  else if (final == 'm' && number_or_zero(all[0]) == 4)
    set_[kOtherKeys] = !is_reset;
  else
    set_[kModifiers] = true;
}

void TerminalUndo::saw_plain(std::string_view numbers, char final) {
  if (final == 'm') set_[kColour] = !is_zero(numbers);  // 38;5;0 is black, and 1;0 we undo as well
  if (final == 'h' || final == 'l') saw_ansi_modes(numbers, final);
  if (final == 'r') set_[kMargins] = !numbers.empty();
  if (final == 's') cursor_saved();
  if (final == 'u') cursor_restored();
}

void TerminalUndo::saw_control_sequence(std::string_view parameters, char final) {
  bool marked = !parameters.empty() && parameters[0] >= '<' && parameters[0] <= '?';
  char marker = marked ? parameters[0] : 0;
  std::string_view rest = parameters.substr(marked ? 1 : 0);
  if (is_plain_parameters(parameters)) return saw_plain(parameters, final);
  if (marker == '?' && (final == 'h' || final == 'l' || final == 'r'))
    saw_modes(rest, final);
  else if (marker == '?' && final == 'c')
    set_[kConsoleShape] = !is_zero(rest);
  else if (marked && marker != '?' && final == 'u')
    saw_keyboard(parameters);
  else if (marker == '>' && (final == 'm' || final == 'n'))
    saw_modifiers(rest, final);
  else if (marker == '>' && (final == 'f' || final == 's' || final == 'p'))
    set_[final == 'f' ? kKeyFormats : final == 's' ? kShiftKey : kPointer] = !rest.empty();
  else if (final == 'q' && rest.ends_with(' '))
    set_[kShape] = !is_zero(rest.substr(0, rest.size() - 1));
  else if (final == 'q' && rest.ends_with('"'))
    set_[kProtected] = !is_zero(rest.substr(0, rest.size() - 1));
  else if (rest.ends_with('#') && (final == '}' || final == 'q' || final == 'Q'))
    set_[kColour] = true;  // taken from a stack of them
}

void TerminalUndo::saw_escape(std::string_view intermediates, char final) {
  if (intermediates.empty() && final == 'c') *this = {};
  if (intermediates.empty() && final == '7') cursor_saved();
  if (intermediates.empty() && final == '8') cursor_restored();
  if (intermediates.empty() && (final == '=' || final == '>')) set_[kKeypad] = final == '=';
  if (intermediates.empty() && std::string_view("no|}~").find(final) != std::string_view::npos)
    saw_shift();
  size_t which = intermediates.empty() ? std::string_view::npos
                                       : std::string_view("()*+").find(intermediates[0]);
  if (which != std::string_view::npos) charsets_[which] = final != 'B';
}

std::string TerminalUndo::text() const {
  std::string out;
  if (on_other_screen()) out += keyboards_[1].undo();
  std::span<const TerminalMode> known = terminal_modes();
  for (size_t i = 0; i < known.size(); ++i)
    if (modes_[i])
      out += fmt::format("\x1b[?{}{}", known[i].number, known[i].on_by_default ? 'h' : 'l');
  out += keyboards_[0].undo();
  for (size_t i = 0; i < kSettings; ++i)
    if (set_[i] || (i == kCharset && charsets_.any())) out += kUndo[i];
  return out;
}

}  // namespace caisson

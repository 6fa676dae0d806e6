#include "base/terminal_rules.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace caisson {

namespace {

// Not in this list, and why:
//   2    VT52 mode: another grammar of escapes, so that our reading and the terminal's part ways
//   38   Tektronix mode: the same
//   42   national character sets: the same bytes become other characters
//   46   logging: xterm writes a file
//   1001 highlighting: xterm hangs until the program answers
//   1070 and the rest: nobody needs them
constexpr TerminalMode kModes[] = {
    {1, false},    {3, false},    {4, false},    {5, false},    {6, false},    {7, true},
    {8, true},     {9, false},    {12, false},   {25, true},    {45, false},   {47, false},
    {66, false},   {67, false},   {69, false},   {1000, false}, {1002, false}, {1003, false},
    {1004, false}, {1005, false}, {1006, false}, {1007, false}, {1015, false}, {1016, false},
    {1034, false}, {1036, false}, {1039, false}, {1047, false}, {1048, false}, {1049, false},
    {2004, false}, {2026, false}, {2027, false}, {2031, false}, {2048, false},
};

// What stands between "CSI" and the final byte: a marker (one of <=>?), numbers, intermediates.
struct Parts {
  std::string_view marker, numbers, intermediates;
};

Parts split_parameters(std::string_view text) {
  size_t marker = !text.empty() && text[0] >= '<' && text[0] <= '?' ? 1 : 0;
  size_t numbers = text.find_first_of(" !\"#$%&'()*+,-./", marker);
  if (numbers == std::string_view::npos) numbers = text.size();
  return {text.substr(0, marker), text.substr(marker, numbers - marker), text.substr(numbers)};
}

struct Rule {
  std::string_view marker, intermediates;
  std::string_view finals;
};

// Not in this list, and why:
//   i       media copy: prints, or pipes the screen to a print command
//   * y     checksum of a rectangle: reads the person's screen back, character by character
//   * z     runs a macro; DCS, which defines them, is dropped as well
//   > t T   title modes (hexadecimal titles); # S, # R and & w: reports that nobody needs
//   $ w     presentation reports; x: terminal parameters
//   SP F/G  are ESC sequences, see there; " p  conformance level: turns on 8-bit controls
//   q       keyboard lights
constexpr Rule kRules[] = {
    {"", "", "@ABCDEFGHIJKLMPSTXZ`abdefgmrsu"},  // cursor, erasing, scrolling, tabs, colours
    {"?", "", "JKWmrsu"},                        // selective erase, tab stops, saved modes, keys
    {">", "", "cfmnpqsu"},                       // identity, key modifiers, pointer, version
    {"=", "", "cu"},
    {"<", "", "u"},
    {"", " ", "q@A"},      // cursor shape, sideways scrolling
    {"", "!", "p"},        // soft reset
    {"", "\"", "q"},       // protected characters
    {"", "$", "prtvxz{"},  // mode query, rectangles
    {"?", "$", "p"},       // mode query: answers a number
    {"", "*", "x"},        // shape of rectangles
    {"", "'", "}~"},       // columns
    {"", "#", "pq{}PQ"},   // stack of colours
};

bool in_rules(const Parts& parts, char final) {
  return std::any_of(std::begin(kRules), std::end(kRules), [&](const Rule& rule) {
    return rule.marker == parts.marker && rule.intermediates == parts.intermediates &&
           rule.finals.find(final) != std::string_view::npos;
  });
}

// "" is 0; no number of ours has more than five digits.
std::optional<unsigned> number(std::string_view text) {
  if (text.size() > 5 || text.find_first_not_of("0123456789") != std::string_view::npos) return {};
  unsigned value = 0;
  for (char c : text) value = value * 10 + (c - '0');
  return value;
}

template <typename Allowed>
bool all_numbers(std::string_view numbers, Allowed allowed) {
  for (std::string_view text : split(numbers, ';')) {
    std::optional<unsigned> value = number(text);
    if (!value || !allowed(*value)) return false;
  }
  return true;
}

bool is_known_mode(unsigned value) {
  return std::any_of(std::begin(kModes), std::end(kModes),
                     [&](const TerminalMode& mode) { return mode.number == value; });
}

// 2 locks the keyboard, 12 turns on local echo.
bool may_set_ansi_mode(unsigned value) { return value == 4 || value == 20 || value == 34; }

// Sizes are asked (14, 16, 18, 19) and titles put aside (22, 23). 20 and 21 make the terminal type
// the title, which the program has chosen, into the input; the others move, resize, raise or
// iconify the person's window.
bool may_ask_window(std::string_view numbers) {
  std::optional<unsigned> what = number(split(numbers, ';')[0]);
  return what &&
         (*what == 14 || *what == 16 || *what == 18 || *what == 19 || *what == 22 || *what == 23);
}

// Where the cursor is, whether all is well, which colours: numbers only. 15, 25, 26, 55, 62, 63 ask
// about printers, keys and macros.
bool may_ask_status(const Parts& parts) {
  std::optional<unsigned> what = number(parts.numbers);
  if (parts.marker == "?") return what == 6u || what == 996u;
  return parts.marker.empty() && (what == 5u || what == 6u);
}

}  // namespace

std::span<const TerminalMode> terminal_modes() { return kModes; }

// Five digits are enough for any screen; a terminal told to repeat something 2147483647 times is
// busy for a while (CVE-2012-2738).
bool is_plain_parameters(std::string_view parameters) {
  size_t digits = 0;
  for (char c : parameters) {
    bool digit = c >= '0' && c <= '9';
    if (!digit && c != ';' && c != ':') return false;
    digits = digit ? digits + 1 : 0;
    if (digits > 5) return false;
  }
  return true;
}

bool may_pass_control_sequence(std::string_view parameters, char final) {
  Parts parts = split_parameters(parameters);
  if (!is_plain_parameters(parts.numbers)) return false;
  if (parts.intermediates.empty() && (final == 'h' || final == 'l')) {
    if (parts.marker == "?") return all_numbers(parts.numbers, is_known_mode);
    return parts.marker.empty() && all_numbers(parts.numbers, may_set_ansi_mode);
  }
  if (parts.intermediates.empty() && parts.marker == "?" && (final == 'r' || final == 's'))
    return all_numbers(parts.numbers, is_known_mode);
  if (parts.intermediates.empty() && parts.marker.empty() && final == 't')
    return may_ask_window(parts.numbers);
  if (parts.intermediates.empty() && final == 'n' && parts.marker != ">")
    return may_ask_status(parts);
  if (parts.intermediates.empty() && (parts.marker.empty() || parts.marker == "?") && final == 'c')
    return true;  // identity; on the Linux console the cursor's shape
  return in_rules(parts, final);
}

// ESC % @ leaves UTF-8: from there on the second byte of an "ś" would be a CSI of its own, so only
// the way back (ESC % G) passes. ESC SP F and G choose 8-bit controls. P ] X ^ _ k begin strings.
bool may_pass_escape(std::string_view intermediates, char final) {
  if (intermediates.empty())
    return std::string_view("6789=>DEHMNOZcno|}~").find(final) != std::string_view::npos;
  if (intermediates == "#") return std::string_view("34568").find(final) != std::string_view::npos;
  if (intermediates == "%") return final == 'G';
  // Which characters the four sets hold: line drawing is one.
  return intermediates.size() == 1 &&
         std::string_view("()*+").find(intermediates[0]) != std::string_view::npos &&
         std::string_view("0AB12").find(final) != std::string_view::npos;
}

// Passed: titles (0, 1, 2: nothing that we let through can make the terminal say them back), the
// question for a colour (4, 10 to 12, answered with numbers), and colours back to normal (104, 110
// to 112). Dropped, among others: setting colours (text on its own colour, for good), 7 (folder), 8
// (links whose text says something else, or that open programs), 9, 99 and 777 (notifications), 50
// (fonts; answers with the program's own text, CVE-2022-45063), 52 (clipboard), 133 (false
// prompts), 1337 (files, and much more).
bool may_pass_osc(std::string_view payload) {
  size_t separator = payload.find(';');
  std::string_view rest =
      separator == std::string_view::npos ? std::string_view() : payload.substr(separator + 1);
  std::optional<unsigned> what = number(payload.substr(0, separator));
  if (!what || payload.empty() || payload[0] == ';') return false;
  if (*what <= 2) return separator != std::string_view::npos;
  if (*what == 4) {
    size_t question = rest.find(";?");
    return question != std::string_view::npos && question > 0 && question + 2 == rest.size() &&
           number(rest.substr(0, question)).has_value();
  }
  if (*what >= 10 && *what <= 12) return rest == "?";
  if (*what == 104) return is_plain_parameters(rest);
  return *what >= 110 && *what <= 112 && rest.empty();
}

}  // namespace caisson

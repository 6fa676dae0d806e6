// Which sequences a terminal may see from a full-screen program. Tables and pure functions; the
// state machine that finds the sequences is terminal_filter.cpp's.
#pragma once

#include <span>
#include <string_view>

namespace caisson {

// A private mode (CSI ? n h) that may be set, and how a new terminal has it.
struct TerminalMode {
  unsigned number;
  bool on_by_default;
};
std::span<const TerminalMode> terminal_modes();

// "38;5;1", "4:3": digits and separators only.
bool is_plain_parameters(std::string_view parameters);

// CSI, without its introducer: "?1049" and 'h', " " and 'q', "18" and 't'.
bool may_pass_control_sequence(std::string_view parameters, char final);
// ESC, with its intermediate bytes: "" and '7', "(" and '0'.
bool may_pass_escape(std::string_view intermediates, char final);
// OSC, its payload: "2;title".
bool may_pass_osc(std::string_view payload);

}  // namespace caisson

// --tty: between the caller's terminal and the master of the cell's own pty.
#pragma once

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <optional>
#include <string>
#include <vector>

#include "base/terminal_filter.h"
#include "base/unique_fd.h"
#include "launch/callers_stream.h"
#include "launch/relay.h"

namespace caisson {

// Rows and columns of the terminal that the caller sits at; 24 × 80 without one.
winsize window_of_caller(int input, int output);

class TerminalRelay {
 public:
  // Puts the caller's terminal into raw mode until it is dropped; with no terminal it just passes
  // bytes. A person at a terminal sees all; what is captured or goes to a file is held to `budget`.
  TerminalRelay(UniqueFd master, int input, int output, bool capture, OutputBudget& budget);
  ~TerminalRelay();
  TerminalRelay(const TerminalRelay&) = delete;
  TerminalRelay& operator=(const TerminalRelay&) = delete;

  void add_to(std::vector<pollfd>& polls) const;
  void handle(const std::vector<pollfd>& polls);
  // What is left of the program's words; then what the caller's terminal has not taken yet.
  void drain();
  bool pending() const { return !to_caller_.empty() && !capture_; }
  void add_output_to(std::vector<pollfd>& polls) const {
    polls.push_back({output_.fd(), POLLOUT, 0});
  }
  void window_changed();
  // Around a stop of caisson: the caller's shell has its terminal as it left it. Back in the
  // foreground it is raw again; in the background it is not ours to change.
  void pause();
  void resume();
  uint64_t seen() const { return seen_; }
  uint64_t cut() const { return cut_; }
  int lost() const { return output_.lost(); }
  std::string take_captured() { return std::move(captured_); }

 private:
  bool read_master();
  void read_caller();
  void write_pending();
  void make_raw();
  UniqueFd master_;
  CallersStream input_, output_;
  bool capture_, to_terminal_, input_open_ = true;
  OutputBudget& budget_;
  std::optional<termios> saved_;
  TerminalFilter filter_{TerminalFilter::Mode::kInteractive, charset_of_caller()};
  std::string to_caller_, to_cell_, captured_;
  uint64_t seen_ = 0, cut_ = 0;
};

}  // namespace caisson

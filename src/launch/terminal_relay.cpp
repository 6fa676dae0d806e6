#include "launch/terminal_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/control.h"
#include "launch/relay.h"

namespace caisson {

constexpr size_t kTypedChunk = 4096;
constexpr char kEndOfInput = 4;  // ^D, as a person would type it

winsize window_of_caller(int input, int output) {
  winsize size{};
  int from = ::isatty(input) ? input : output;
  if (::ioctl(from, TIOCGWINSZ, &size) != 0) size.ws_row = 24, size.ws_col = 80;
  return size;
}

TerminalRelay::TerminalRelay(UniqueFd master, int input, int output, bool capture,
                             OutputBudget& budget)
    : master_(std::move(master)),
      input_(input),
      output_(output),
      capture_(capture),
      to_terminal_(!capture && output_.is_terminal()),
      budget_(budget) {
  ::fcntl(master_.get(), F_SETFL, O_RDWR | O_NONBLOCK);
  make_raw();
}

void TerminalRelay::make_raw() {
  termios now;
  if (::tcgetattr(input_.fd(), &now) != 0) return;
  saved_ = now;
  ::cfmakeraw(&now);
  ::tcsetattr(input_.fd(), TCSANOW, &now);
}

TerminalRelay::~TerminalRelay() {
  if (!saved_) return;
  // Answers to queries of a program that is gone are nobody's input.
  ::tcflush(input_.fd(), TCIFLUSH);
  ::tcsetattr(input_.fd(), TCSANOW, &*saved_);
}

void TerminalRelay::pause() {
  // The last words of a handler of SIGTSTP, such as the way back from the other screen.
  while (master_ && to_caller_.empty() && read_master()) write_pending();
  if (!saved_) return;
  ::tcsetattr(input_.fd(), TCSANOW, &*saved_);
  saved_.reset();
}

void TerminalRelay::resume() {
  pid_t foreground = ::tcgetpgrp(input_.fd());  // -1: not the terminal of our session
  if (!saved_ && (foreground < 0 || foreground == ::getpgrp())) make_raw();
  window_changed();  // SIGWINCH is not sent to who is in the background
}

void TerminalRelay::window_changed() {
  winsize size = window_of_caller(input_.fd(), output_.fd());
  if (master_) ::ioctl(master_.get(), TIOCSWINSZ, &size);
}

void TerminalRelay::add_to(std::vector<pollfd>& polls) const {
  short master = 0;
  if (to_caller_.empty()) master |= POLLIN;
  if (!to_cell_.empty()) master |= POLLOUT;
  if (master_) polls.push_back({master_.get(), master, 0});
  if (!to_caller_.empty()) polls.push_back({output_.fd(), POLLOUT, 0});
  if (input_open_ && to_cell_.empty()) polls.push_back({input_.fd(), POLLIN, 0});
}

void TerminalRelay::handle(const std::vector<pollfd>& polls) {
  if (!to_caller_.empty() && events_of(polls, output_.fd())) write_pending();
  if (master_ && to_caller_.empty() && (events_of(polls, master_.get()) & (POLLIN | POLLHUP)))
    read_master();
  if (input_open_ && to_cell_.empty() && events_of(polls, input_.fd())) read_caller();
  if (master_ && !to_cell_.empty()) {
    ssize_t written = ::write(master_.get(), to_cell_.data(), to_cell_.size());
    if (written > 0) to_cell_.erase(0, static_cast<size_t>(written));
  }
}

bool TerminalRelay::read_master() {
  char buffer[16384];
  ssize_t got = ::read(master_.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {  // EIO: the last one that had the terminal open is gone
    master_.reset();
    return false;
  }
  size_t size = static_cast<size_t>(got), allowed = size;
  if (!to_terminal_) allowed = static_cast<size_t>(std::min<uint64_t>(size, budget_.left));
  if (!to_terminal_) budget_.left -= allowed;
  seen_ += size;
  cut_ += size - allowed;
  std::string_view bytes{buffer, allowed};
  bool filtered = to_terminal_ && control_enabled("terminal-filter");
  if (capture_)
    captured_ += bytes;
  else
    to_caller_ += filtered ? filter_.feed(bytes) : std::string(bytes);
  return true;
}

void TerminalRelay::read_caller() {
  char buffer[kTypedChunk];
  ssize_t got = input_.read(buffer, sizeof buffer);
  if (got > 0) {
    to_cell_.assign(buffer, static_cast<size_t>(got));
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    input_open_ = false;
    to_cell_.assign(1, kEndOfInput);
  }
}

void TerminalRelay::write_pending() {
  ssize_t written = output_.write(to_caller_);
  if (written > 0)
    to_caller_.erase(0, static_cast<size_t>(written));
  else if (written < 0 && errno != EAGAIN && errno != EINTR)
    to_caller_.clear(), master_.reset();  // the hang-up that a closed window is
}

void TerminalRelay::drain() {
  while (master_ && read_master()) {
  }
  if (to_terminal_) to_caller_ += filter_.finish();  // modes and colours that were left set
  while (!to_caller_.empty() && !capture_) {
    size_t before = to_caller_.size();
    write_pending();
    if (to_caller_.size() == before) break;
  }
}

}  // namespace caisson

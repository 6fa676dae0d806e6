// Bytes between the cell's pipes and the caller's descriptors, with bounded memory and without ever
// blocking the supervisor.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal_filter.h"
#include "base/unique_fd.h"
#include "launch/callers_stream.h"

namespace caisson {

// What stdout and stderr may write together.
struct OutputBudget {
  uint64_t left;
};

// From the cell to the caller, or into a string.
class OutputRelay {
 public:
  OutputRelay(UniqueFd from, int to, bool capture, OutputBudget& budget);

  void add_to(std::vector<pollfd>& polls) const;
  void handle(const std::vector<pollfd>& polls);
  // After the cell has ended: what the pipe still holds. Leaves bytes that the caller isn't ready
  // for.
  void drain();
  bool finished() const { return !from_ && pending_.empty(); }
  bool has_pending() const { return !pending_.empty(); }

  uint64_t seen() const { return seen_; }
  uint64_t cut() const { return cut_; }
  int lost() const { return to_.lost(); }
  std::string take_captured() { return std::move(captured_); }

 private:
  bool read_some();  // false: nothing more now
  void write_some();
  UniqueFd from_;
  CallersStream to_;
  bool capture_;
  std::optional<uint64_t> drain_left_;
  OutputBudget& budget_;
  std::optional<TerminalFilter> filter_;  // when the caller's side is a terminal (T42)
  std::string pending_, captured_;
  uint64_t seen_ = 0, cut_ = 0;
};

// From the caller to the cell.
class InputRelay {
 public:
  InputRelay(int from, UniqueFd to);
  void add_to(std::vector<pollfd>& polls) const;
  void handle(const std::vector<pollfd>& polls);
  void close() { to_.reset(); }

 private:
  CallersStream from_;
  UniqueFd to_;
  std::string pending_;
};

// The events that poll reported for `fd`, 0 if it was not asked about.
short events_of(const std::vector<pollfd>& polls, int fd);

}  // namespace caisson

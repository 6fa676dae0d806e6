// The supervisor's loop: one thread, one poll. Passes bytes and signals, keeps the deadline, gives
// the verdict.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "launch/cell.h"
#include "launch/outcome.h"

namespace caisson {

// Something beside the cell that is waited for in the same loop: the gateway's socket, a file of
// new rules.
struct Watch {
  int fd = -1;
  std::function<bool()> ready;  // false: it is not to be watched any more
};

struct Supervision {
  Limits limits;
  int input = 0, output = 1, error_output = 2;  // the caller's
  bool capture = false;      // keep stdout and stderr for the result instead of passing them on
  bool survive_oom = false;  // what the kernel kills for memory does not end the cell
  bool input_is_null = false;
  Terminal terminal = Terminal::kNone;
  bool no_exec = false;
  std::vector<Watch> watches;
  std::function<void(const Denial&)> heard;  // what rules of files refused, as it happens
  std::function<std::string()> must_end;     // why a watch can't let the cell go on; "": it can
  // The outcome stands. Told once, as soon as nobody of the cell is left: what has to be done with
  // it is done while the kernel takes the namespaces apart.
  std::function<void(Outcome&)> concluded;
  uint64_t start_ns = 0;  // CLOCK_MONOTONIC at the start of caisson
};

Outcome supervise(Cell cell, const Supervision&);

}  // namespace caisson

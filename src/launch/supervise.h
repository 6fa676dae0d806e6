// The supervisor's loop: one thread, one poll. Passes bytes and signals, keeps the deadline, gives
// the verdict.
#pragma once

#include <chrono>
#include <optional>

#include "launch/cell.h"
#include "launch/outcome.h"

namespace caisson {

struct Supervision {
  Limits limits;
  int input = 0, output = 1, error_output = 2;  // the caller's
  bool capture = false;  // keep stdout and stderr for the result instead of passing them on
  bool input_is_null = false;
  Terminal terminal = Terminal::kNone;
  bool no_exec = false;
  uint64_t start_ns = 0;  // CLOCK_MONOTONIC at the start of caisson
};

Outcome supervise(Cell cell, const Supervision&);

}  // namespace caisson

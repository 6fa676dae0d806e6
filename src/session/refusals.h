// What `caisson exec` tells of refusals, line by line, on a pipe of its cell's. The names in the
// lines are the cell's choice: only a process that parses such things anyway reads them.
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "session/session.h"

namespace caisson::session {

class RefusalPipe {
 public:
  RefusalPipe() = default;
  explicit RefusalPipe(UniqueFd pipe) : pipe_(std::move(pipe)) {}  // that doesn't wait
  // Those since the last time. What doesn't fit into the pipe is left out by exec.
  std::vector<Refusal> take();
  // To another process, who reads from then on.
  UniqueFd hand_over() { return std::move(pipe_); }

 private:
  UniqueFd pipe_;
  std::string part_of_line_;
};

}  // namespace caisson::session

// --no-exec: the program may run, nothing else may be executed. The filter asks for every execve;
// the first is caisson's own and goes on, all others are refused and told.
#pragma once

#include <poll.h>

#include <vector>

#include "base/unique_fd.h"
#include "launch/outcome.h"

namespace caisson {

class ExecGuard {
 public:
  explicit ExecGuard(Outcome& outcome) : outcome_(outcome) {}
  void listen(UniqueFd listener) { listener_ = std::move(listener); }
  void add_to(std::vector<pollfd>& polls) const;
  void handle(const std::vector<pollfd>& polls);

 private:
  void answer_one();
  UniqueFd listener_;
  bool program_started_ = false;
  Outcome& outcome_;
};

}  // namespace caisson

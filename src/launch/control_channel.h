// The supervisor's end of the control socket: what pid 1 tells, checked for size before it is used.
#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "launch/child_program.h"
#include "launch/compile.h"

namespace caisson {

struct ControlMessage {
  std::optional<ChildMessage> message;
  UniqueFd fd;       // for kTerminal and kListener
  bool end = false;  // the other side is gone
};
ControlMessage receive_control(int socket);

struct SetupFailure {
  std::string reason, hint;
  int exit_code;
};
SetupFailure explain_setup_failure(const CompiledProgram&, uint32_t step, int errnum);

}  // namespace caisson

#include "launch/outcome.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <fmt/format.h>

namespace caisson {

Status explain_end(int wait_status, Outcome& outcome) {
  if (WIFEXITED(wait_status)) {
    int code = WEXITSTATUS(wait_status);
    outcome.reason =
        code == 0 ? "the program ended well" : fmt::format("the program exited with {}", code);
    return code == 0 ? Status::kOk : Status::kExited;
  }
  int number = WTERMSIG(wait_status);
  const char* name = ::sigabbrev_np(number);
  outcome.reason = fmt::format("the program was ended by SIG{}{}", name ? name : "?",
                               number == SIGSYS    ? " (a system call from a foreign entry)"
                               : number == SIGXFSZ ? " (the file size limit)"
                                                   : "");
  if (number == SIGXFSZ) outcome.hint = "--fsize raises it";
  return number == SIGXFSZ || number == SIGXCPU ? Status::kLimit : Status::kSignalled;
}

const char* status_name(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kExited:
      return "exited";
    case Status::kSignalled:
      return "signalled";
    case Status::kTimeout:
      return "timeout";
    case Status::kOom:
      return "oom";
    case Status::kLimit:
      return "limit";
    case Status::kSetupError:
      return "setup_error";
    case Status::kInternalError:
      return "internal_error";
  }
  return "internal_error";
}

}  // namespace caisson

#include "launch/exec_guard.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>

#include <fmt/format.h>

#include "launch/relay.h"

namespace caisson {

constexpr size_t kMostDenials = 100;

void ExecGuard::add_to(std::vector<pollfd>& polls) const {
  if (listener_) polls.push_back({listener_.get(), POLLIN, 0});
}

void ExecGuard::handle(const std::vector<pollfd>& polls) {
  if (!listener_) return;
  short events = events_of(polls, listener_.get());
  if (events & POLLIN)
    answer_one();
  else if (events)
    listener_.reset();  // POLLHUP: no process is left that has the filter
}

void ExecGuard::answer_one() {
  seccomp_notif request{};
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) return;
  seccomp_notif_resp response{};
  response.id = request.id;
  if (!program_started_) {
    // Sent by our own code before any of the cell's ran. The decision is "the first", not anything
    // read from the process's memory, so there is nothing that could be swapped (T38).
    program_started_ = true;
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    response.error = -EPERM;
    if (outcome_.denials.size() < kMostDenials)
      outcome_.denials.push_back({"no-exec", fmt::format("execve by process {}", request.pid),
                                  "leave --no-exec out, or set SANDBOX_ALLOW_EXEC=true"});
    else
      ++outcome_.denials_cut;
  }
  ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response);
}

}  // namespace caisson

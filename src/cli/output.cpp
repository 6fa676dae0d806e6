#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/terminal_filter.h"
#include "cli/cli.h"
#include "launch/callers_stream.h"

namespace caisson {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {  // somebody made the shared description non-blocking
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

// A reader who does not read (a flooded terminal, a full pipe that a program shares with us) would
// hold us for ever, and who has run a cell has all signals blocked: these end the wait, and us.
static bool write_within(int fd, std::string_view text, const timespec* patience) {
  CallersStream stream(fd);
  sigset_t blocked;
  ::sigfillset(&blocked);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigdelset(&blocked, number);
  while (!text.empty()) {
    ssize_t written = stream.write(text);
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
    if (written >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    pollfd ready{fd, POLLOUT, 0};
    if (::ppoll(&ready, 1, patience, &blocked) == 0) return false;
  }
  return true;
}

void talk(std::string_view text) {
  timespec patience{::isatty(STDERR_FILENO) ? 1 : 10, 0};
  write_within(STDERR_FILENO, text, &patience);
}

int print(std::string_view text) {
  if (write_within(STDOUT_FILENO, text, nullptr) || errno == EPIPE) return 0;
  return report(Error::system("write to stdout"));
}

int print_foreign(std::string_view text) {
  if (!::isatty(STDOUT_FILENO)) return print(text);
  TerminalFilter filter(TerminalFilter::Mode::kPlain, charset_of_caller());
  std::string safe = filter.feed(text);
  return print(safe + filter.finish());
}

}  // namespace caisson

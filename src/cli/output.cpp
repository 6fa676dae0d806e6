#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/terminal_filter.h"
#include "base/unique_fd.h"
#include "cli/cli.h"

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

// A terminal that nobody reads (a program flooded it, its window is stopped) would hold us here for
// ever. Opened anew, so that what others have of it keeps its mode.
void talk(std::string_view text) {
  constexpr int kPatienceMs = 1000;
  if (!::isatty(STDERR_FILENO)) {
    write_all(STDERR_FILENO, text);
    return;
  }
  UniqueFd own{::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (!own) return;
  while (!text.empty()) {
    ssize_t written = ::write(own.get(), text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
    pollfd ready{own.get(), POLLOUT, 0};
    if (written < 0 && ((errno != EAGAIN && errno != EINTR) || ::poll(&ready, 1, kPatienceMs) <= 0))
      return;
  }
}

int print(std::string_view text) {
  if (write_all(STDOUT_FILENO, text) || errno == EPIPE) return 0;
  return report(Error::system("write to stdout"));
}

int print_foreign(std::string_view text) {
  if (!::isatty(STDOUT_FILENO)) return print(text);
  TerminalFilter filter(TerminalFilter::Mode::kPlain);
  std::string safe = filter.feed(text);
  return print(safe + filter.finish());
}

}  // namespace caisson

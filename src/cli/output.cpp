#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

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

int print(std::string_view text) {
  if (write_all(STDOUT_FILENO, text) || errno == EPIPE) return 0;
  return report(Error::system("write to stdout"));
}

}  // namespace caisson

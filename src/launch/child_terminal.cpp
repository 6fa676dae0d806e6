// --tty: a pty from the cell's own devpts. The caller's terminal never enters the cell (T41).
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "launch/child_state.h"

namespace caisson {

long open_terminal(ChildState& state) {
  long master =
      sys_call(SYS_openat, long{AT_FDCWD}, "/dev/pts/ptmx", long{O_RDWR | O_NOCTTY | O_CLOEXEC});
  if (master < 0) return master;
  int unlock = 0;
  long result = sys_call(SYS_ioctl, master, long{TIOCSPTLCK}, &unlock);
  if (result >= 0)
    result = sys_call(SYS_ioctl, master, long{TIOCGPTPEER}, long{O_RDWR | O_NOCTTY | O_CLOEXEC});
  // Above 2, where the program's stdio will be: those numbers are free at this moment.
  if (result >= 0) result = sys_call(SYS_fcntl, result, long{F_DUPFD_CLOEXEC}, 3L);
  if (result >= 0) {
    state.terminal_fd = static_cast<int>(result);
    result = send_descriptor(state, MessageKind::kTerminal, static_cast<int>(master));
  }
  sys_call(SYS_close, master);
  return result;
}

}  // namespace caisson

// The warden's process, and the way of the notification descriptor to it.
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "launch/child_state.h"
#include "warden/warden.h"

namespace caisson {

namespace {

// The program's process gives the numbers below to what it was passed. And no higher than need be:
// a table of 64 descriptors that grows while a thread shares it waits for RCU, 10 to 20 ms on an
// idle machine (expand_fdtable() in the kernel's fs/file.c).
constexpr long kAboveOthers = 3 + long{kMostPassed};
static_assert(kAboveOthers < 32);

long moved_up(int fd) {
  long moved = sys_call(SYS_fcntl, long{fd}, long{F_DUPFD_CLOEXEC}, kAboveOthers);
  sys_call(SYS_close, long{fd});
  return moved;
}

// A copy of pid 1, with its Landlock domain. Nothing stays open in it but its two sockets: it must
// not keep the program's pipes alive.
int become_warden(void* argument) {
  ChildState& state = *static_cast<ChildState*>(argument);
  const ChildProgram& program = *state.program;
  sys_call(SYS_dup3, long{state.warden_sockets[0]}, 0L, 0L);
  long next = 1;
  if (program.report_fd >= 0) {
    sys_call(SYS_dup3, long{program.report_fd}, 1L, 0L);
    next = 2;
  }
  sys_call(kernel::kCloseRange, next, 0xffffffffL, 0L);
  warden::run({program.warden, program.warden_filter, program.warden_filter_count, 0});
}

}  // namespace

// The supervisor is told when a cover is opened: nobody pays for it but who opens one. Its
// descriptor outlives the cell, so that the last word is heard too. Where there are no watches left
// to be had, it is told nothing.
long watch_covers(ChildState& state, const Step& step) {
  constexpr long kOpened = 0x20;  // IN_OPEN
  long watch = sys_call(SYS_inotify_init1, long{O_CLOEXEC | O_NONBLOCK});
  if (watch < 0) return 0;
  const char* path = step.other;
  long result = 0;
  for (uint64_t i = 0; i < step.a && result >= 0; ++i) {
    result = sys_call(SYS_inotify_add_watch, watch, path, kOpened);
    path += text_length(path) + 1;
  }
  if (result >= 0) result = send_descriptor(state, MessageKind::kWatch, static_cast<int>(watch));
  sys_call(SYS_close, watch);
  return 0;
}

long spawn_warden(ChildState& state) {
  alignas(16) static char stack[256 * 1024];
  int pair[2];
  long result =
      sys_call(SYS_socketpair, long{AF_UNIX}, long{SOCK_SEQPACKET | SOCK_CLOEXEC}, 0L, pair);
  if (result < 0) return result;
  for (int i = 0; i < 2; ++i) {
    long fd = moved_up(pair[i]);
    if (fd < 0) return fd;
    state.warden_sockets[i] = static_cast<int>(fd);
  }
  // Memory of its own, not pid 1's: the two have nothing to do with each other from here on.
  long pid = caisson_clone_call(SIGCHLD, stack + sizeof stack, become_warden, &state);
  sys_call(SYS_close, long{state.warden_sockets[0]});
  if (state.program->report_fd >= 0) sys_call(SYS_close, long{state.program->report_fd});
  if (pid >= 0) state.warden_pid = static_cast<int>(pid);
  return pid < 0 ? pid : 0;
}

long hand_to_warden(ChildState& state, long listener) {
  char word = 'l';
  return send_with_descriptor(state.warden_sockets[1], {&word, 1}, static_cast<int>(listener));
}

}  // namespace caisson

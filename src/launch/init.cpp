// pid 1 of the cell: reaps, passes signals on, tells the program's end, and ends everything with
// it.
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "launch/child_state.h"

namespace caisson {

// A program that is still there after so long will be there for a while.
static constexpr long kSettlingNs = 20000000;

static void tell(ChildState& state, MessageKind kind, int value) {
  state.message.kind = kind;
  state.message.value = value;
  sys_call(SYS_write, long{state.program->control_fd}, &state.message, long{sizeof state.message});
}

// Nothing but waiting, passing on and telling is left to pid 1; should the cell ever steer it, that
// is all there is.
static void confine(ChildState& state) {
  const ChildProgram& program = *state.program;
  if (!program.filter_init) return;
  sock_fprog filter{static_cast<unsigned short>(program.init_filter_count),
                    const_cast<sock_filter*>(program.init_filter)};
  long result = sys_call(SYS_seccomp, long{SECCOMP_SET_MODE_FILTER}, 0L, &filter);
  if (result >= 0) return;
  state.message.step = program.init_count + program.enter_count;
  tell(state, MessageKind::kFailed, static_cast<int>(-result));
  sys_call(SYS_exit_group, 125L);
}

[[noreturn]] static void end_everything(ChildState& state, int program_status);

static uint64_t microseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000u + static_cast<uint64_t>(time.tv_usec);
}

// One that has ended, with what it and all that it waited for used; see wait4(2).
static long wait_for_one(ChildState& state, int* status, long how) {
  rusage used{};
  long pid = sys_call(SYS_wait4, -1L, status, how, &used);
  if (pid <= 0) return pid;
  ChildMessage& message = state.message;
  message.user_us += microseconds(used.ru_utime);
  message.system_us += microseconds(used.ru_stime);
  uint64_t rss = static_cast<uint64_t>(used.ru_maxrss);
  if (rss > message.max_rss_kib) message.max_rss_kib = rss;
  return pid;
}

// Reaps all that has ended. The wait status of the program once it is among them, else -1.
//
// A warden that was killed is the cell's end: what it has judged would be for somebody else to
// judge, and whoever kills it hopes to be that (T39). By itself it ends with 0, when the last
// process that could ask is about to be gone.
static int reap(ChildState& state) {
  for (;;) {
    int status = 0;
    long pid = wait_for_one(state, &status, WNOHANG);
    if (pid <= 0) return -1;
    if (pid == state.program_pid) {
      state.program_pid = -1;  // the number may be another's by now
      return status;
    }
    if (pid == state.warden_pid && status != 0 && state.program->end_with_warden)
      end_everything(state, SIGKILL);
  }
}

// Without a pid namespace: all that descends from here has this process for a parent in the end,
// since it is their subreaper. What is listed is killed; what that orphans is listed the next time.
static void kill_children() {
  long fd = sys_call(SYS_openat, long{AT_FDCWD}, "/proc/thread-self/children",
                     long{O_RDONLY | O_CLOEXEC});
  if (fd < 0) return;
  char text[4096];
  long size = sys_call(SYS_read, fd, text, long{sizeof text});
  sys_call(SYS_close, fd);
  long pid = 0;
  for (long i = 0; i < size; ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      pid = pid * 10 + (text[i] - '0');
    } else if (pid > 0) {
      sys_call(SYS_kill, pid, long{SIGKILL});
      pid = 0;
    }
  }
}

// Everything ends here, and is waited for, so that its use is accounted. With its word pid 1 is
// alone. All are killed before any is waited for: who makes children that end at once would keep it
// waiting for good.
[[noreturn]] static void end_everything(ChildState& state, int program_status) {
  bool own = state.program->own_pid_namespace;
  if (own) sys_call(SYS_kill, -1L, long{SIGKILL});
  for (;;) {
    if (!own) kill_children();
    int status = 0;
    long pid = wait_for_one(state, &status, 0);
    if (pid == state.program_pid) program_status = status;
    if (pid < 0 && pid != -EINTR) break;
  }
  tell(state, MessageKind::kExited, program_status);
  sys_call(SYS_exit_group, 0L);
  __builtin_unreachable();
}

// The program leads a process group of its own, as under a shell: all of it hears the signal.
static void pass_on(const ChildState& state, long number) {
  sys_call(SYS_kill, static_cast<long>(-state.program_pid), number);
}

// SIGTSTP asks, and nobody here has to obey: the program's session has no parent that could
// continue it, so that the kernel drops the signal where no handler takes it (an orphaned group:
// setpgid(2)). Who has a handler gets a moment; then everything is stopped. Without a pid namespace
// that is the program's group alone: what left it runs on until the clock ends it.
static void stop_everything(ChildState& state) {
  pass_on(state, SIGTSTP);
  // Slept, not waited for: signals that are sent to us meanwhile can't put it off.
  timespec grace{0, 50000000};
  if (!state.stopped) sys_call(SYS_clock_nanosleep, long{CLOCK_MONOTONIC}, 0L, &grace, 0L);
  if (state.program->own_pid_namespace)
    sys_call(SYS_kill, -1L, long{SIGSTOP});
  else
    pass_on(state, SIGSTOP);
  state.stopped = true;
  tell(state, MessageKind::kStopped, 0);
}

static void continue_everything(ChildState& state) {
  bool all = state.stopped && state.program->own_pid_namespace;
  state.stopped = false;
  if (all)
    sys_call(SYS_kill, -1L, long{SIGCONT});
  else
    pass_on(state, SIGCONT);
}

static void handle_signal(ChildState& state, long number) {
  if (number == kEndSignal) end_everything(state, SIGKILL);
  if (number == SIGTSTP) return stop_everything(state);
  if (number == SIGCONT) return continue_everything(state);
  if (number > 0 && number != SIGCHLD) pass_on(state, number);
}

void run_init(ChildState& state) {
  const ChildProgram& program = *state.program;
  for (int fd : program.stdio)
    if (fd >= 0) sys_call(SYS_close, long{fd});
  // Whoever holds the other end sees its end when the program lets go, not when pid 1 does.
  for (unsigned i = 0; i < program.passed_count; ++i) sys_call(SYS_close, long{program.passed[i]});
  if (state.terminal_fd >= 0) sys_call(SYS_close, long{state.terminal_fd});
  if (state.unsteered) tell(state, MessageKind::kUnsteered, state.unsteered);
  confine(state);

  // All signals have been blocked since before clone; blocked ones reach even pid 1 (signal(7)).
  unsigned long all = ~0ul;
  const timespec settling{0, kSettlingNs};
  const timespec* patience = &settling;
  for (;;) {
    int status = reap(state);
    if (status >= 0) end_everything(state, status);
    long number = sys_call(SYS_rt_sigtimedwait, &all, 0L, patience, 8L);
    if (number == -EAGAIN) {
      // Not before: to unmap them interrupts the other core, where the program begins.
      give_back_clean_pages(program);
      patience = nullptr;
    }
    handle_signal(state, number);
  }
}

}  // namespace caisson

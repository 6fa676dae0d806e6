// From clone to exec, inside the cell. Compiled without exceptions and RTTI; no libc that
// allocates, locks or reads errno. The order is the plan's; why each stands where it does is told
// in compile.cpp.
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include "launch/child_state.h"

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

namespace caisson {

uint64_t monotonic_now() {
  timespec now{};
  sys_call(SYS_clock_gettime, long{CLOCK_MONOTONIC}, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

static long write_file(const Step& step) {
  long fd = sys_call(SYS_openat, long{AT_FDCWD}, step.path, long{O_WRONLY | O_CLOEXEC});
  if (fd < 0) return fd;
  long written = sys_call(SYS_write, fd, step.data, long{step.size});
  sys_call(SYS_close, fd);
  return written < 0 ? written : 0;
}

// A supervisor that died before the parent-death signal was set has left its word in the socket,
// and the signal will never come: the end of the socket tells (T29, T39).
static void end_if_orphaned(const ChildState& state) {
  pollfd control{state.program->control_fd, POLLRDHUP, 0};
  timespec now{};
  long ready = sys_call(SYS_ppoll, &control, 1L, &now, 0L, 0L);
  if (ready != 0) sys_call(SYS_exit_group, 0L);
}

// Limits and record stand when the supervisor's word comes. With it come the cgroups to join:
// moving oneself is the one move that never waits for a grace period of the whole host.
static long await_go(ChildState& state) {
  int folders[kMostCgroups];
  long count = receive_descriptors(state, folders, kMostCgroups);
  if (count < 0) return count;
  if (state.program->die_with_parent) end_if_orphaned(state);
  for (long i = 0; i < count; ++i) {
    long result = sys_call(SYS_write, long{folders[i]}, "0", 1L);
    sys_call(SYS_close, long{folders[i]});
    if (result < 0) return result;
  }
  return 0;
}

static long enter_workdir(const char* path) {
  long result = sys_call(SYS_chdir, path);
  if (result < 0) return result;
  // A directory outside the root shows as "(unreachable)…" (T17).
  char where[4096];
  result = sys_call(SYS_getcwd, where, long{sizeof where});
  if (result < 0) return result;
  return where[0] == '/' ? 0 : -EXDEV;
}

// The caller's session keyring is inherited over fork and exec; an anonymous one takes its place. A
// kernel without keyrings has nothing to inherit.
static long join_own_keyring() {
  long result = sys_call(SYS_keyctl, 1L /* KEYCTL_JOIN_SESSION_KEYRING */, 0L);
  return result == -ENOSYS ? 0 : result < 0 ? result : 0;
}

// What stands in nobody's way, done while the network is being made: dispositions of signals (all
// are blocked until the exec; CLONE_CLEAR_SIGHAND would leave what the caller ignores), and the
// bounding set, which takes nothing from this process.
static void prepare(const ChildProgram& program) {
  struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    unsigned long mask;
  } standard{};
  for (long number = 1; number <= 64; ++number)
    if (number != SIGKILL && number != SIGSTOP)
      sys_call(SYS_rt_sigaction, number, &standard, 0L, 8L);
  if (!program.drop_capabilities) return;
  for (long capability = 0; capability < 64; ++capability)
    if (sys_call(SYS_prctl, long{PR_CAPBSET_DROP}, capability) == -EINVAL) break;
}

// With every set empty, uid 0 inside is a uid like any other: an exec gives nothing back (T30).
static long drop_capabilities(uint32_t permitted) {
  sys_call(SYS_prctl, long{PR_SET_SECUREBITS},
           long{SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED});
  sys_call(SYS_prctl, long{PR_CAP_AMBIENT}, long{PR_CAP_AMBIENT_CLEAR_ALL}, 0L, 0L, 0L);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  sets[0].permitted = permitted;
  return sys_call(SYS_capset, &header, sets);
}

// The time limit once more: a supervisor that is stopped (^Z, kill -STOP) keeps none, and what runs
// here can wake itself from any stop (a timer that sends SIGCONT). A timer's signal has its place
// in the queue from the start: no flood of others crowds it out, as one of setitimer(2) could be.
static long start_clock(uint64_t milliseconds) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = kEndSignal;
  int timer = 0;
  long result = sys_call(SYS_timer_create, long{CLOCK_MONOTONIC}, &event, &timer);
  if (result < 0) return result;
  itimerspec when{};
  when.it_value = {static_cast<time_t>(milliseconds / 1000),
                   static_cast<long>(milliseconds % 1000 * 1000000)};
  return sys_call(SYS_timer_settime, long{timer}, 0L, &when, 0L);
}

static long run_init_step(ChildState& state, const Step& step) {
  switch (step.kind) {
    case StepKind::kWriteFile:
      return write_file(step);
    case StepKind::kTakeIds:
      return take_ids(state, step);
    case StepKind::kAwaitMounts:
      return await_mounts(state);
    case StepKind::kStartNetwork:
      return start_network_thread(state);
    case StepKind::kPrepare:
      state.message.stamp[kStampRoot] = monotonic_now();
      prepare(*state.program);
      return 0;
    case StepKind::kJoinNetwork:
      state.message.stamp[kStampRoot] = monotonic_now();
      return join_network_thread();
    case StepKind::kHostname:
      return sys_call(SYS_sethostname, step.path, text_length(step.path));
    case StepKind::kAwaitGo: {
      state.message.stamp[kStampPivot] = monotonic_now();
      long result = await_go(state);
      state.message.stamp[kStampGo] = monotonic_now();
      return result;
    }
    case StepKind::kClock:
      return start_clock(step.a);
    case StepKind::kCgroupNamespace:
      return sys_call(SYS_unshare, long{CLONE_NEWCGROUP});
    case StepKind::kKeyring:
      return join_own_keyring();
    case StepKind::kWatch:
      return watch_covers(state, step);
    case StepKind::kOpenTerminal:
      return open_terminal(state);
    case StepKind::kWorkdir:
      return enter_workdir(step.path);
    case StepKind::kDropCapabilities:
      return drop_capabilities(static_cast<uint32_t>(step.a));
    case StepKind::kLandlock:
      return restrict_by_landlock(*state.program);
    case StepKind::kNoNewPrivileges:
      return sys_call(SYS_prctl, long{PR_SET_NO_NEW_PRIVS}, 1L, 0L, 0L, 0L);
    case StepKind::kProc: {
      long result = run_mount_step(state, step);
      if (result >= 0) announce_proc();
      return result;
    }
    default:
      return run_mount_step(state, step);
  }
}

[[noreturn]] static void fail(ChildState& state, uint32_t step, long error) {
  state.message.kind = MessageKind::kFailed;
  state.message.step = step;
  state.message.value = static_cast<int32_t>(-error);
  sys_call(SYS_write, long{state.program->control_fd}, &state.message, long{sizeof state.message});
  sys_call(SYS_exit_group, 125L);
  __builtin_unreachable();
}

// Every descriptor that is not ours goes, whoever opened it and whatever its flags say (T16).
static long close_foreign_descriptors(const ChildProgram& program) {
  int keep[6 + kMostPassed] = {program.control_fd, program.gateway_fd, program.stdio[0],
                               program.stdio[1], program.stdio[2]};
  keep[5 + kMostPassed] = program.report_fd;
  for (unsigned i = 0; i < kMostPassed; ++i)
    keep[5 + i] = i < program.passed_count ? program.passed[i] : -1;
  unsigned next = 0;
  for (;;) {
    unsigned lowest = ~0u;
    for (int fd : keep)
      if (fd >= 0 && static_cast<unsigned>(fd) >= next && static_cast<unsigned>(fd) < lowest)
        lowest = static_cast<unsigned>(fd);
    if (lowest == ~0u) break;
    if (lowest > next) {
      long result = sys_call(kernel::kCloseRange, long{next}, static_cast<long>(lowest - 1), 0L);
      if (result < 0) return result;
    }
    next = lowest + 1;
  }
  return sys_call(kernel::kCloseRange, long{next}, 0xffffffffL, 0L);
}

static void wipe(char* start, uint64_t size) {
  for (uint64_t i = 0; i < size; ++i) static_cast<volatile char*>(start)[i] = 0;
}

static void spawn_program(ChildState& state) {
  alignas(16) static char stack[65536];
  state.message.stamp[kStampSpawn] = monotonic_now();
  // CLONE_VFORK: this process sleeps until the program has been exec'd, so sharing memory is safe.
  long pid = caisson_clone_call(CLONE_VM | CLONE_VFORK | SIGCHLD, stack + sizeof stack,
                                enter_program, &state);
  const ChildProgram& program = *state.program;
  if (pid < 0) fail(state, program.init_count, pid);
  if (state.enter_failed_step >= 0)
    fail(state, program.init_count + static_cast<uint32_t>(state.enter_failed_step),
         -state.enter_errno);
  state.program_pid = static_cast<int>(pid);
  state.message.stamp[kStampExec] = monotonic_now();
}

void run_child(const ChildProgram& program) {
  ChildState state{};
  state.program = &program;
  state.message.stamp[kStampFirst] = monotonic_now();
  // First of all: from here on the cell can't outlive the supervisor (T29). Should it have died in
  // between, await_go sees the end of the control socket.
  if (program.die_with_parent)
    sys_call(SYS_prctl, long{PR_SET_PDEATHSIG}, long{program.death_signal});
  if (!program.own_pid_namespace) sys_call(SYS_prctl, long{PR_SET_CHILD_SUBREAPER}, 1L);
  // Born from a process that had changed its ids, its own /proc/self would be root's to write.
  sys_call(SYS_prctl, long{PR_SET_DUMPABLE}, 1L);
  if (program.close_descriptors)
    if (long result = close_foreign_descriptors(program); result < 0) fail(state, 0, result);
  if (program.wipe_environment) wipe(program.wipe_start, program.wipe_size);

  for (uint32_t i = 0; i < program.init_count; ++i) {
    long result = run_init_step(state, program.init_steps[i]);
    if (result < 0) fail(state, i, result);
  }
  // From now on there is somebody inside who could look: pid 1 can't be traced, and its environ, fd
  // and memory can't be opened through /proc (T24, T25). The program's exec makes it dumpable
  // again.
  if (program.not_dumpable) sys_call(SYS_prctl, long{PR_SET_DUMPABLE}, 0L);
  if (program.warden) {
    long result = spawn_warden(state);
    // What the warden kept of its capabilities is not for anybody else.
    if (result >= 0 && program.drop_capabilities) result = drop_capabilities(0);
    if (result < 0) fail(state, program.init_count + program.enter_count, result);
  }
  spawn_program(state);
  if (program.warden) sys_call(SYS_close, long{state.warden_sockets[1]});
  run_init(state);
}

}  // namespace caisson

// The last steps, in the program's own process: from spawn to exec. It shares pid 1's memory until
// the exec, while pid 1 sleeps; it changes nothing there but the two words that tell of a failure.
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "launch/child_state.h"
#include "sys/short_turns.h"

namespace caisson {

static long take_stdio(ChildState& state) {
  for (int i = 0; i < 3; ++i) {
    int from = state.program->stdio[i] >= 0 ? state.program->stdio[i] : state.terminal_fd;
    // None of ours is numbered below 3 (compile.cpp sees to it), so dup3 never finds from == i.
    long result = sys_call(SYS_dup3, long{from}, long{i}, 0L);
    if (result < 0) return result;
  }
  if (state.terminal_fd < 0) return 0;
  sys_call(SYS_ioctl, 0L, long{TIOCSWINSZ}, &state.program->window);  // before anybody can ask
  return sys_call(SYS_ioctl, 0L, long{TIOCSCTTY}, 0L);
}

// What the caller passed on by name, and nothing else, outlives the exec.
static long take_passed(const ChildProgram& program) {
  for (unsigned i = 0; i < program.passed_count; ++i) {
    long result = sys_call(SYS_dup3, long{program.passed[i]}, long{3} + i, 0L);
    if (result < 0) return result;
  }
  return 0;
}

// Their dispositions were set back by pid 1, of which this process is a copy.
static void unblock_signals() {
  unsigned long none = 0;
  sys_call(SYS_rt_sigprocmask, long{SIG_SETMASK}, &none, 0L, 8L);
}

// Where the caller's own hard limit is lower, that one holds: it can't be raised, and less is less.
static long limit_resource(long resource, uint64_t value) {
  rlimit64 asked{value, value}, now{};
  if (sys_call(SYS_prlimit64, 0L, resource, &asked, 0L) >= 0) return 0;
  long result = sys_call(SYS_prlimit64, 0L, resource, 0L, &now);
  if (result < 0) return result;
  if (value > now.rlim_max) value = now.rlim_max;
  if (now.rlim_cur == value && now.rlim_max == value) return 0;
  rlimit64 limit{value, value};
  return sys_call(SYS_prlimit64, 0L, resource, &limit, 0L);
}

// The lowest `count` of the cores that this process may use.
static long pin_cpus(uint64_t count) {
  unsigned char mask[1024]{};
  long size = sys_call(SYS_sched_getaffinity, 0L, long{sizeof mask}, mask);
  if (size < 0) return size;
  for (long bit = 0; bit < size * 8; ++bit) {
    unsigned char& byte = mask[bit / 8];
    unsigned char flag = static_cast<unsigned char>(1u << bit % 8);
    if (!(byte & flag)) continue;
    if (count == 0)
      byte &= static_cast<unsigned char>(~flag);
    else
      --count;
  }
  return sys_call(SYS_sched_setaffinity, 0L, size, mask);
}

// A path of the policy is canonical and was looked at: a link, or another file, in its place is
// refused (T03, T04).
static long open_checked(const ChildLandlockRule& rule) {
  kernel::OpenHow how{O_PATH | O_CLOEXEC, 0,
                      kernel::kResolveNoSymlinks | kernel::kResolveNoMagicLinks};
  long fd = sys_call(kernel::kOpenat2, long{AT_FDCWD}, rule.path, &how, long{sizeof how});
  if (fd < 0) return fd == -ENOENT || fd == -ELOOP ? -ESTALE : fd;
  struct stat found;
  long result = sys_call(SYS_newfstatat, fd, "", &found, long{AT_EMPTY_PATH});
  if (result >= 0 && found.st_dev == rule.device && found.st_ino == rule.inode) return fd;
  sys_call(SYS_close, fd);
  return result < 0 ? result : -ESTALE;
}

static long add_landlock_rule(long ruleset, const ChildLandlockRule& rule) {
  long fd = rule.inode ? open_checked(rule)
                       : sys_call(SYS_openat, long{AT_FDCWD}, rule.path, long{O_PATH | O_CLOEXEC});
  if (fd == -ENOENT) return 0;  // nothing there, nothing to allow
  if (fd < 0) return fd;
  kernel::LandlockPathBeneath beneath{rule.access, static_cast<int32_t>(fd)};
  long result = sys_call(kernel::kLandlockAddRule, ruleset, long{kernel::kLandlockRulePathBeneath},
                         &beneath, 0L);
  sys_call(SYS_close, fd);
  return result;
}

long restrict_by_landlock(const ChildProgram& program) {
  kernel::LandlockRuleset rules{program.landlock_handled, 0, program.landlock_scoped};
  long ruleset = sys_call(kernel::kLandlockCreateRuleset, &rules, long{program.landlock_size}, 0L);
  if (ruleset < 0) return ruleset;
  for (uint32_t i = 0; i < program.landlock_count; ++i) {
    long result = add_landlock_rule(ruleset, program.landlock_rules[i]);
    if (result < 0) return result;
  }
  long result = sys_call(kernel::kLandlockRestrictSelf, ruleset, 0L);
  sys_call(SYS_close, ruleset);
  return result;
}

// A signal must not make the caller ask twice: the first time may have made the file. So only a
// deadly one wakes it once the warden has its call (5.19).
static long install_asking_filter(ChildState& state, const sock_fprog& filter) {
  constexpr long kWaitKillable = 1 << 5;  // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
  long listener = sys_call(SYS_seccomp, long{SECCOMP_SET_MODE_FILTER},
                           long{SECCOMP_FILTER_FLAG_NEW_LISTENER} | kWaitKillable, &filter);
  if (listener == -EINVAL)
    listener = sys_call(SYS_seccomp, long{SECCOMP_SET_MODE_FILTER},
                        long{SECCOMP_FILTER_FLAG_NEW_LISTENER}, &filter);
  if (listener < 0) return listener;
  long result = hand_to_warden(state, listener);
  sys_call(SYS_close, listener);
  return result;
}

static long install_filter(ChildState& state) {
  const ChildProgram& program = *state.program;
  sock_fprog filter{static_cast<unsigned short>(program.filter_count),
                    const_cast<sock_filter*>(program.filter)};
  if (program.warden) return install_asking_filter(state, filter);
  long flags = program.notify_exec ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
  long result = sys_call(SYS_seccomp, long{SECCOMP_SET_MODE_FILTER}, flags, &filter);
  if (result < 0 || !program.notify_exec) return result;
  // The listener is CLOEXEC from birth and leaves for the supervisor; no copy stays (T39).
  long listener = result;
  result = send_descriptor(state, MessageKind::kListener, static_cast<int>(listener));
  sys_call(SYS_close, listener);
  return result;
}

static bool try_next_folder(long error) {
  return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -ESTALE;
}

// Execute permission on a folder is leave to walk through it: execve(2) wants a regular file.
static bool is_executable(const char* path) {
  if (sys_call(SYS_faccessat, long{AT_FDCWD}, path, 1L /* X_OK */) < 0) return false;
  struct stat found;
  long result = sys_call(SYS_newfstatat, long{AT_FDCWD}, path, &found, 0L);
  return result >= 0 && S_ISREG(found.st_mode);
}

// Under --no-exec exactly one execve is let through, so the one that will do is found beforehand.
static long exec_once(const ChildProgram& program) {
  long found_but = -ENOENT;
  for (const char* const* path = program.candidates; *path; ++path) {
    if (is_executable(*path)) return sys_call(SYS_execve, *path, program.argv, program.environment);
    if (sys_call(SYS_faccessat, long{AT_FDCWD}, *path, 0L /* F_OK */) == 0) found_but = -EACCES;
  }
  return found_but;
}

static long exec_program(const ChildProgram& program) {
  if (program.notify_exec) return exec_once(program);
  long found_but = -ENOENT;
  for (const char* const* path = program.candidates; *path; ++path) {
    // A look costs a tenth of an execve(2) that fails, and a PATH has a dozen folders.
    long there = sys_call(SYS_faccessat, long{AT_FDCWD}, *path, 0L /* F_OK */);
    if (there == -ENOENT || there == -ENOTDIR) continue;
    long error = sys_call(SYS_execve, *path, program.argv, program.environment);
    if (error == -ENOEXEC) {  // a script without #!, as execvp(3) does it
      program.shell_argv[1] = *path;
      error = sys_call(SYS_execve, "/bin/sh", program.shell_argv, program.environment);
    }
    if (!try_next_folder(error)) return error;
    if (error == -EACCES) found_but = error;
  }
  return found_but;
}

static long run_enter_step(ChildState& state, const Step& step) {
  switch (step.kind) {
    case StepKind::kStdio:
      return take_stdio(state);
    case StepKind::kPassed:
      return take_passed(*state.program);
    case StepKind::kRlimit:
      return limit_resource(static_cast<long>(step.a), step.b);
    case StepKind::kTurns:
      take_turns_of(step.a);  // no boundary: where it can't be had back, its turns are short
      return 0;
    case StepKind::kPinCpus:
      return pin_cpus(step.a);
    case StepKind::kLandlock:
      return restrict_by_landlock(*state.program);
    case StepKind::kSeccomp:
      return install_filter(state);
    case StepKind::kAwaitNetworkThread:
      return await_network_thread();
    case StepKind::kExec:
      return exec_program(*state.program);
    default:
      return -ENOSYS;
  }
}

int enter_program(void* argument) {
  ChildState& state = *static_cast<ChildState*>(argument);
  const ChildProgram& program = *state.program;
  sys_call(SYS_setsid);  // before the terminal: only a session leader can take one
  unblock_signals();
  // Whatever is still open above stdio ends with the exec (T16).
  long result = 0;
  if (program.close_descriptors)
    result = sys_call(kernel::kCloseRange, 3L, 0xffffffffL, 4L /* CLOSE_RANGE_CLOEXEC */);
  uint32_t i = 0;
  for (; result >= 0 && i < program.enter_count; ++i) {
    result = run_enter_step(state, program.enter_steps[i]);
    if (result < 0) break;
  }
  state.enter_failed_step = static_cast<int>(i);
  state.enter_errno = static_cast<int>(-result);
  return 125;
}

}  // namespace caisson

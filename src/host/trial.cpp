#include "host/trial.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/scope_exit.h"
#include "base/unique_fd.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson {

namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLastGasp{1000};  // from SIGKILL to the end

// clone(2) where clone3(2) is hidden, as Docker's filter does it, so that the true reason shows.
long clone_child(uint64_t namespaces) {
  clone_args args{};
  args.flags = namespaces;
  args.exit_signal = SIGCHLD;
  long pid = sys_call(kernel::kClone3, &args, long{sizeof args});
  if (pid != -ENOSYS && pid != -EPERM) return pid;
  return sys_call(SYS_clone, static_cast<long>(namespaces | SIGCHLD), 0L, 0L, 0L, 0L);
}

// The write end lives in the child alone, so its end is the pipe's.
bool ended_within(int pipe, milliseconds deadline) {
  pollfd end{pipe, POLLIN, 0};
  int ready;
  do ready = ::poll(&end, 1, static_cast<int>(deadline.count()));
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// What the pending step reads.
int await_end(pid_t pid, int pipe, milliseconds deadline) {
  bool in_time = ended_within(pipe, deadline);
  if (!in_time) {
    ::kill(pid, SIGKILL);
    // One that sleeps in the kernel does not hear the signal; it is left to its own end.
    if (!ended_within(pipe, kLastGasp)) return ETIMEDOUT;
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return ETIMEDOUT;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? ENOSYS : EINTR;
}

}  // namespace

Trial run_trial(uint64_t namespaces, const std::function<void(TrialSteps)>& body,
                milliseconds deadline) {
  Trial trial;
  std::fill(std::begin(trial.steps), std::end(trial.steps), Attempt::kNotTried);
  void* memory = ::mmap(nullptr, sizeof trial.steps, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2];
  if (memory == MAP_FAILED || ::pipe2(ends, O_CLOEXEC) != 0) {
    trial.birth = errno;
    return trial;
  }
  ScopeExit unmap([&] { ::munmap(memory, sizeof trial.steps); });
  UniqueFd read_end{ends[0]}, write_end{ends[1]};
  ::memcpy(memory, trial.steps, sizeof trial.steps);

  long pid = clone_child(namespaces);
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    body(TrialSteps(static_cast<int*>(memory)));
    sys_call(SYS_exit_group, 0L);
  }
  write_end.reset();
  trial.birth = pid < 0 ? static_cast<int>(-pid) : 0;
  if (pid < 0) return trial;
  int pending = await_end(static_cast<pid_t>(pid), read_end.get(), deadline);
  ::memcpy(trial.steps, memory, sizeof trial.steps);
  std::replace(std::begin(trial.steps), std::end(trial.steps), EINTR, pending);
  return trial;
}

long plain_fork() { return sys_call(SYS_clone, long{SIGCHLD}, 0L, 0L, 0L, 0L); }

static long write_file(const char* path, const char* text) {
  long fd = sys_call(SYS_openat, long{AT_FDCWD}, path, long{O_WRONLY | O_CLOEXEC});
  if (fd < 0) return fd;
  long written = sys_call(SYS_write, fd, text, static_cast<long>(::strlen(text)));
  sys_call(SYS_close, fd);
  return written;
}

bool write_id_maps(TrialSteps steps, size_t first, uid_t uid, gid_t gid) {
  char uid_map[64], gid_map[64];
  ::snprintf(uid_map, sizeof uid_map, "%u %u 1", uid, uid);
  ::snprintf(gid_map, sizeof gid_map, "%u %u 1", gid, gid);
  return steps.take(first, [] { return write_file("/proc/self/setgroups", "deny"); }) >= 0 &&
         steps.take(first + 1, [&] { return write_file("/proc/self/uid_map", uid_map); }) >= 0 &&
         steps.take(first + 2, [&] { return write_file("/proc/self/gid_map", gid_map); }) >= 0;
}

const char* map_step_name(size_t index) {
  constexpr const char* kNames[kMapSteps] = {
      "write /proc/self/setgroups", "write /proc/self/uid_map", "write /proc/self/gid_map"};
  return kNames[index];
}

}  // namespace caisson

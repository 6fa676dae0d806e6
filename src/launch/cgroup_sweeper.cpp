#include "launch/cgroup_sweeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <type_traits>

#include "launch/cgroup_folder.h"
#include "launch/cgroup_names.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson {

namespace {

constexpr size_t kMaxDirectories = 4, kStackBytes = 16384;
constexpr unsigned kSweepMilliseconds = 30000;  // what dies may have much to take apart

// Plain bytes: the sweeper reads them when the supervisor may be dead.
struct Orders {
  pid_t supervisor;
  bool v2;
  size_t count;
  char directories[kMaxDirectories][512];
  char name[kMaxCgroupName];
  char leaf[kMaxCgroupName];
};
static_assert(std::is_trivially_copyable_v<Orders>);

template <size_t N>
bool copy_text(char (&to)[N], const std::string& from) {
  if (from.size() >= N) return false;
  memcpy(to, from.c_str(), from.size() + 1);
  return true;
}

bool has_directory(const Orders& orders, const std::string& directory) {
  for (size_t i = 0; i < orders.count; ++i)
    if (directory == orders.directories[i]) return true;
  return false;
}

Result<void> write_orders(const CgroupPlan& plan, const std::string& name, Orders& orders) {
  orders.supervisor = ::getpid();
  orders.v2 = plan.version == CgroupFacts::Version::kV2;
  orders.count = 0;
  bool fits = copy_text(orders.name, name) && copy_text(orders.leaf, supervisor_leaf_name());
  for (const CgroupSlot& slot : plan.slots) {
    if (has_directory(orders, slot.directory)) continue;
    fits = fits && orders.count < kMaxDirectories &&
           copy_text(orders.directories[orders.count++], slot.directory);
  }
  if (!fits) return Error::plain("the path of a cgroup is too long: " + name);
  return {};
}

// Everything from here to run() happens in the sweeper: system calls and bytes, no errno, no libc.

// Keeps nothing of the supervisor: pipes must see their end, terminals their hangup, mounts their
// last user.
void let_go_of_everything() {
  sys_call(kernel::kCloseRange, 0, ~0u, 0);
  sys_call(SYS_setsid);
  sys_call(SYS_chdir, "/");
  sys_call(SYS_prctl, PR_SET_NAME, "caisson-sweeper");
}

void await_end_of(pid_t supervisor) {
  long pidfd = sys_call(kernel::kPidfdOpen, supervisor, 0);
  // An orphan has another parent; a number used again is not our parent's.
  while (pidfd >= 0 && sys_call(SYS_getppid) == supervisor) {
    pollfd wait{static_cast<int>(pidfd), POLLIN, 0};
    sys_call(SYS_ppoll, &wait, 1, 0, 0, 0);
    if (wait.revents) return;
  }
}

void sweep(const Orders& orders, const char* directory) {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  long parent = sys_call(SYS_openat, AT_FDCWD, directory, kFlags, 0);
  if (parent < 0) return;
  long self = sys_call(SYS_openat, parent, orders.name, kFlags | O_NOFOLLOW, 0);
  if (self >= 0) {
    kill_cgroup_members(static_cast<int>(self));
    sys_call(SYS_close, self);
    remove_cgroup_folder(static_cast<int>(parent), orders.name, kSweepMilliseconds);
  }
  if (orders.v2) leave_supervisor_leaf(static_cast<int>(parent), orders.leaf);
  sys_call(SYS_close, parent);
}

}  // namespace

struct CgroupSweeper::Work {
  Orders orders;
  alignas(16) char stack[kStackBytes];
};

int CgroupSweeper::run(void* argument) {
  const Orders& orders = static_cast<const Work*>(argument)->orders;
  let_go_of_everything();
  await_end_of(orders.supervisor);
  for (size_t i = 0; i < orders.count; ++i) sweep(orders, orders.directories[i]);
  return 0;
}

Result<CgroupSweeper> CgroupSweeper::start(const CgroupPlan& plan, const std::string& name) {
  // Not value-initialised: zeroing the stack would touch its pages for nothing.
  auto work = std::unique_ptr<Work>(new Work);
  TRY(write_orders(plan, name, work->orders));
  // Blocked from birth: a handler of the supervisor's must never run on the sweeper's stack.
  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  long pid =
      caisson_clone_call(CLONE_VM, work->stack + kStackBytes, &CgroupSweeper::run, work.get());
  // A group of its own before any folder is made: a SIGKILL to the supervisor's whole group (a
  // shell's, a CI job's) must not end both. Its own setsid() may come too late for that.
  if (pid > 0) ::setpgid(static_cast<pid_t>(pid), static_cast<pid_t>(pid));
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0)
    return Error::from_errno("clone the process that cleans up after a crash",
                             static_cast<int>(-pid));
  return CgroupSweeper(std::move(work), static_cast<pid_t>(pid));
}

CgroupSweeper::CgroupSweeper(std::unique_ptr<Work> work, pid_t pid)
    : work_(std::move(work)), pid_(pid) {}

CgroupSweeper::CgroupSweeper(CgroupSweeper&& other) noexcept
    : work_(std::move(other.work_)), pid_(std::exchange(other.pid_, -1)) {}

CgroupSweeper& CgroupSweeper::operator=(CgroupSweeper&& other) noexcept {
  std::swap(work_, other.work_);
  std::swap(pid_, other.pid_);
  return *this;
}

void CgroupSweeper::dismiss() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void CgroupSweeper::leave_behind() {
  pid_ = -1;
  (void)work_.release();  // it stands on it, to the end of both
}

CgroupSweeper::~CgroupSweeper() {
  if (pid_ <= 0) return;
  dismiss();
  siginfo_t info;
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | __WALL) != 0 && errno == EINTR) {
  }
}

}  // namespace caisson

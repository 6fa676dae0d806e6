#include "launch/gateway_process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/control.h"
#include "launch/id_mapping.h"
#include "seccomp/filters.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"
#include "sys/short_turns.h"

namespace caisson {

namespace {

constexpr int kCouldNotConfine = 125;
constexpr int kPatienceMs = 200;

// 0, 1 and 2 become /dev/null; all else that is not named goes.
bool keep_only(std::vector<int> keep) {
  int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return false;
  for (int fd : {0, 1, 2})
    if (::dup2(null, fd) < 0) return false;
  std::ranges::sort(keep);
  unsigned next = 3;
  for (int fd : keep) {
    auto number = static_cast<unsigned>(fd);
    if (number > next &&
        sys_call(kernel::kCloseRange, long{next}, static_cast<long>(number - 1), 0L))
      return false;
    next = std::max(next, number + 1);
  }
  return sys_call(kernel::kCloseRange, long{next}, 0xffffffffL, 0L) == 0;
}

bool take_id(uint32_t id) {
  return ::setgroups(0, nullptr) == 0 && ::setresgid(id, id, id) == 0 &&
         ::setresuid(id, id, id) == 0;
}

void empty_bounding_set() {
  for (int capability = 0; capability < 64; ++capability)
    if (::prctl(PR_CAPBSET_DROP, capability) != 0) break;  // an ordinary user has nothing to drop
}

bool drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  return ::syscall(SYS_capset, &header, none) == 0;
}

// Every kind of access to files that this kernel knows, and no rule that gives any of it back.
bool shut_files(int abi) {
  if (abi == 0) return true;  // the system call filter refuses to open any
  constexpr uint64_t kKnown[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
  uint64_t handled = kKnown[std::min<size_t>(static_cast<size_t>(abi), std::size(kKnown) - 1)];
  kernel::LandlockRuleset rules{handled, 0, abi >= 6 ? uint64_t{3} : 0};
  long size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  long fd = sys_call(kernel::kLandlockCreateRuleset, &rules, size, 0L);
  if (fd < 0) return false;
  bool shut = sys_call(kernel::kLandlockRestrictSelf, fd, 0L) == 0;
  ::close(static_cast<int>(fd));
  return shut;
}

bool filter_calls() {
  auto filter = filter_for(FilterName::kGateway, false);
  sock_fprog program{static_cast<unsigned short>(filter.size()),
                     const_cast<sock_filter*>(filter.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// A supervisor that died before the signal was asked for will never send it.
bool die_with(pid_t supervisor) {
  if (!control_enabled("gateway-dies-with-parent")) return true;
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == supervisor;
}

// The environment may hold the very values that the gateway is to guard, and root can look into
// /proc/PID/environ of anybody.
void wipe_words(const GatewayStart& start) {
  if (start.wipe_start && control_enabled("gateway-wipe"))
    ::explicit_bzero(start.wipe_start, start.wipe_size);
}

bool confine_gateway(const GatewayStart& start, std::vector<int> keep, uint32_t id,
                     pid_t supervisor) {
  rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);
  raise_file_limit();
  if (!keep_only(std::move(keep))) return false;
  if (!control_enabled("gateway-confined")) return die_with(supervisor);
  empty_bounding_set();
  if (start.throwaway_id && !take_id(id)) return false;
  // After the change of ids, which clears the signal; before the filter, which has no such call.
  return die_with(supervisor) && ::prctl(PR_SET_DUMPABLE, 0) == 0 && drop_capabilities() &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && shut_files(start.landlock_abi) &&
         filter_calls();
}

struct SocketPair {
  UniqueFd ours, theirs;
};

Result<SocketPair> make_pair(int type) {
  int fds[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0)
    return Error::system("make the gateway's sockets");
  return SocketPair{UniqueFd{fds[0]}, UniqueFd{fds[1]}};
}

}  // namespace

Result<GatewayProcess> GatewayProcess::start(GatewayStart start) {
  SocketPair control = TRY(make_pair(SOCK_STREAM)), cell = TRY(make_pair(SOCK_SEQPACKET));
  uint32_t id = start.throwaway_id ? TRY(throwaway_id()) : 0;
  GatewayProcess gateway;
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD;
  args.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  pid_t supervisor = ::getpid();
  long pid = sys_call(kernel::kClone3, &args, long{sizeof args});
  if (pid == 0) {
    std::vector<int> keep = start.keep;
    keep.push_back(control.theirs.get());
    keep.push_back(cell.ours.get());
    take_turns_of(start.turn_ns);  // before the filter; where it fails they stay short
    wipe_words(start);
    if (!confine_gateway(start, std::move(keep), id, supervisor)) ::_exit(kCouldNotConfine);
    ::_exit(start.run(control.theirs.release(), cell.ours.release()));
  }
  if (pid < 0) return Error::from_errno("start the gateway", static_cast<int>(-pid));
  gateway.pid_ = static_cast<pid_t>(pid);
  gateway.pidfd_.reset(pidfd);
  gateway.control_ = std::move(control.ours);
  gateway.cell_end_ = std::move(cell.theirs);
  return gateway;
}

GatewayProcess::GatewayProcess(GatewayProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      control_(std::move(other.control_)),
      cell_end_(std::move(other.cell_end_)) {}

void GatewayProcess::kill() const {
  sys_call(SYS_pidfd_send_signal, long{pidfd_.get()}, long{SIGKILL}, 0L, 0L);
}

void GatewayProcess::finish() {
  if (pid_ < 0) return;
  control_.reset();
  pollfd gone{pidfd_.get(), POLLIN, 0};
  if (::poll(&gone, 1, kPatienceMs) != 1) kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

GatewayProcess::~GatewayProcess() { finish(); }

}  // namespace caisson

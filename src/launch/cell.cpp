#include "launch/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include "base/control.h"
#include "launch/id_mapping.h"
#include "launch/other_core.h"
#include "sys/kernel_numbers.h"
#include "sys/monotonic.h"
#include "sys/raw_syscall.h"

namespace caisson {

namespace {

// A descriptor that is none of 0, 1, 2, so that the child can put the program's stdio there.
Result<UniqueFd> above_stdio(UniqueFd fd) {
  if (!fd || fd.get() > 2) return fd;
  UniqueFd moved{::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3)};
  if (!moved) return Error::system("duplicate a descriptor");
  return moved;
}

// The numbers 3, 4, … are the passed descriptors' own in the program's process: what is still
// needed there after they took them must lie above.
Result<UniqueFd> above_passed(UniqueFd fd) {
  constexpr int kLowest = 3 + static_cast<int>(kMostPassed);
  if (fd.get() >= kLowest) return fd;
  UniqueFd moved{::fcntl(fd.get(), F_DUPFD_CLOEXEC, kLowest)};
  if (!moved) return Error::system("duplicate a descriptor");
  return moved;
}

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return Error::system("make a pipe");
  UniqueFd read{fds[0]}, write{fds[1]};
  return Pipe{TRY(above_stdio(std::move(read))), TRY(above_stdio(std::move(write)))};
}

Result<Pipe> make_control_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
    return Error::system("make the control socket");
  UniqueFd parent{fds[0]}, child{fds[1]};
  return Pipe{TRY(above_stdio(std::move(parent))), TRY(above_stdio(std::move(child)))};
}

Error explain_clone_failure(int errnum, bool inside_cell) {
  Error error = Error::from_errno("cannot create the cell's namespaces", errnum);
  if (inside_cell) {
    error.hint =
        "this is the inside of a caisson cell; the outer one must be started with "
        "--allow-nested";
    return error;
  }
  if (errnum == EPERM || errnum == ENOSPC || errnum == EACCES)
    error.hint =
        "user namespaces are forbidden or used up here; `caisson doctor` shows the fix, "
        "and `--tier landlock` is a smaller boundary that needs none";
  return error;
}

// Plain fork semantics, own namespaces, a pidfd from birth. Never from a fat process: exec is
// small.
long clone_cell(uint64_t flags, int* pidfd, int cgroup) {
  clone_args args{};
  args.flags = flags | CLONE_PIDFD;
  if (cgroup >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<uint64_t>(cgroup);
  }
  args.pidfd = reinterpret_cast<uint64_t>(pidfd);
  args.exit_signal = SIGCHLD;
  return sys_call(kernel::kClone3, &args, long{sizeof args});
}

// One word to the cell's first process, and descriptors with it.
Result<void> send_word(int control, const std::vector<UniqueFd>& descriptors) {
  char word = 'g';
  iovec data{&word, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(kMostMappedMounts * sizeof(int))]{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    size_t size = std::min<size_t>(descriptors.size(), kMostMappedMounts) * sizeof(int);
    header.msg_control = space;
    header.msg_controllen = CMSG_SPACE(size);
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(size);
    int* fds = reinterpret_cast<int*>(CMSG_DATA(part));
    for (size_t i = 0; i < size / sizeof(int); ++i) fds[i] = descriptors[i].get();
  }
  // EPIPE: the cell failed on its way here, and its message about that is waiting to be read.
  if (::sendmsg(control, &header, MSG_NOSIGNAL) != 1 && errno != EPIPE && errno != ECONNRESET)
    return Error::system("let the cell go");
  return {};
}

void block_all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

Result<Cell> Cell::launch(const Plan& plan, LaunchOptions options) {
  Cell cell;
  cell.stamps_.begin = monotonic_ns();
  Pipe control = TRY(make_control_pair());
  if (options.passed.size() > kMostPassed)
    return Error::plain(fmt::format("more than {} descriptors to pass on", kMostPassed),
                        "pass one socket, and send the others through it");
  if (!options.passed.empty()) control.write = TRY(above_passed(std::move(control.write)));
  Pipe input, output, errors;
  ChildDescriptors child{control.write.get(), {-1, -1, -1}, options.window};
  if (plan.terminal == Terminal::kNone) {
    if (options.null_stdin) {
      UniqueFd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
      if (!null) return Error::system("open /dev/null");
      input.read = TRY(above_stdio(std::move(null)));
    } else {
      input = TRY(make_pipe());
    }
    output = TRY(make_pipe());
    errors = TRY(make_pipe());
    child.stdio[0] = input.read.get();
    child.stdio[1] = output.write.get();
    child.stdio[2] = errors.write.get();
  }
  UniqueFd gateway = TRY(above_stdio(std::move(options.gateway)));
  child.gateway = gateway.get();
  for (UniqueFd& fd : options.passed) {
    fd = TRY(above_passed(std::move(fd)));
    child.passed.push_back(fd.get());
  }
  Pipe reports;
  if (plan.warden && plan.warden->report) {
    reports = TRY(make_control_pair());
    reports.write = TRY(above_passed(std::move(reports.write)));
    child.report = reports.write.get();
  }
  if (plan.throwaway_ids) child.outside_id = TRY(throwaway_id());
  cell.compiled_ = compile(plan, child, options.wipe_start, options.wipe_size);

  // v2: the cell is born in its cgroup. v1 can't do that: there the folders are made beside the
  // child, which is busy with its mounts meanwhile, and the child moves itself.
  bool born_in_cgroup = plan.cgroup.version == CgroupFacts::Version::kV2;
  if (born_in_cgroup) TRY(cell.make_cgroup(plan, options.name));

  block_all_signals();
  int pidfd = -1;
  // With the cell's own id this process may not put anybody into a cgroup of root's: moved later.
  int into = cell.cgroup_ && !plan.throwaway_ids ? cell.cgroup_->clone_into_fd() : -1;
  long pid = 0;
  {
    std::optional<BorrowedId> borrowed;
    if (plan.throwaway_ids) borrowed.emplace(TRY(BorrowedId::take(child.outside_id)));
    pid = clone_cell(cell.compiled_->clone_flags(), &pidfd, into);
    if (pid == 0) run_child(cell.compiled_->program());
    if (pid > 0) begin_on_another_core(static_cast<pid_t>(pid));  // it waits behind us here
  }
  if (pid < 0) return explain_clone_failure(static_cast<int>(-pid), options.inside_cell);
  cell.pid_ = static_cast<pid_t>(pid);
  cell.pidfd_.reset(pidfd);
  // With a warden there are more of us at work than cores, and who starts a gateway later must not
  // keep it to one.
  if (!plan.warden && !plan.gateway) cell.core_ = std::make_unique<OwnCore>();
  cell.stamps_.cloned = monotonic_ns();
  cell.control_ = std::move(control.read);
  control.write.reset();  // the child's end: ours must not keep it alive
  gateway.reset();
  reports.write.reset();
  cell.reports_ = std::move(reports.read);
  cell.warden_ = plan.warden;
  options.passed.clear();  // the program's alone from here on
  cell.input_ = std::move(input.write);
  cell.output_ = std::move(output.read);
  cell.error_output_ = std::move(errors.read);

  if (cell.cgroup_ && into < 0) TRY(cell.cgroup_->attach(cell.pid_));
  // A cell that has mapped its ids by now ran on this core, and waits for its mounts.
  bool mounts_first = plan.throwaway_ids && cell.has_spoken();
  if (mounts_first) TRY(cell.send_mounts(plan, child.outside_id));
  std::vector<UniqueFd> join;
  if (!born_in_cgroup) {
    TRY(cell.make_cgroup(plan, options.name));
    if (cell.cgroup_) join = TRY(cell.cgroup_->join_fds());
  }
  if (plan.throwaway_ids && !mounts_first) TRY(cell.send_mounts(plan, child.outside_id));
  cell.stamps_.limited = monotonic_ns();
  if (options.before_go) TRY(options.before_go());
  cell.stamps_.recorded = monotonic_ns();
  TRY(send_word(cell.control_.get(), join));
  return cell;
}

bool Cell::has_spoken() const {
  pollfd control{control_.get(), POLLIN, 0};
  return ::poll(&control, 1, 0) > 0;
}

Result<void> Cell::send_mounts(const Plan& plan, uint32_t outside) {
  // The program opens its own stdio anew as /dev/stdout: its pipes must be its own.
  for (const UniqueFd* end : {&input_, &output_, &error_output_})
    if (*end && ::fchown(end->get(), outside, outside) != 0)
      return Error::system("give the cell its pipes");
  if (compiled_->mapped_mounts().empty()) return {};
  // A namespace without maps can't map a mount. A failure is left for supervise().
  ChildMessage message{};
  ssize_t got = ::recv(control_.get(), &message, sizeof message, MSG_PEEK);
  if (got != sizeof message || message.kind == MessageKind::kFailed) return {};
  // The cell would take the next word for its mounts.
  if (message.kind != MessageKind::kMapped) return Error::plain("the cell spoke out of its turn");
  UniqueFd mapping = TRY(mapping_namespace(pid_, plan, outside));
  std::vector<UniqueFd> mounts;
  for (const Step& step : compiled_->mapped_mounts())
    mounts.push_back(TRY(open_mapped_mount(step, mapping.get())));
  return send_word(control_.get(), mounts);
}

Result<void> Cell::make_cgroup(const Plan& plan, const std::string& name) {
  if (plan.cgroup.slots.empty()) return {};
  if (control_enabled("sweeper"))
    sweeper_.emplace(TRY(CgroupSweeper::start(plan.cgroup, name)));  // first: no folder without one
  cgroup_.emplace(TRY(CellCgroup::create(plan.cgroup, name, sweeper_ ? sweeper_->pid() : 0)));
  return {};
}

Cell::Cell(Cell&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      stamps_(other.stamps_),
      pidfd_(std::move(other.pidfd_)),
      control_(std::move(other.control_)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      error_output_(std::move(other.error_output_)),
      reports_(std::move(other.reports_)),
      warden_(std::move(other.warden_)),
      compiled_(std::move(other.compiled_)),
      sweeper_(std::move(other.sweeper_)),
      cgroup_(std::move(other.cgroup_)),
      core_(std::move(other.core_)) {
  other.cgroup_.reset();
  other.sweeper_.reset();
}

void Cell::send_signal(int number) const {
  sys_call(SYS_pidfd_send_signal, long{pidfd_.get()}, long{number}, 0L, 0L);
}

void Cell::end() const { send_signal(kEndSignal); }

void Cell::kill() const { send_signal(SIGKILL); }

Cell::Used Cell::reap() {
  rusage usage{};
  while (::wait4(pid_, nullptr, 0, &usage) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  auto milliseconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return {milliseconds(usage.ru_utime), milliseconds(usage.ru_stime),
          static_cast<uint64_t>(usage.ru_maxrss) * 1024};
}

void Cell::release_cgroup() {
  if (!cgroup_) return;
  // The sweeper is let go only when there is nothing left for it to sweep.
  if (cgroup_->remove() && sweeper_) sweeper_->dismiss();
  cgroup_.reset();
  sweeper_.reset();
}

Cell::~Cell() {
  if (pid_ > 0) {
    kill();
    reap();
  }
  release_cgroup();
}

}  // namespace caisson

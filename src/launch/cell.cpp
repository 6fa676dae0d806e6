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
#include "base/descriptor_message.h"
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
  int fds[kMostMappedMounts];
  size_t count = std::min<size_t>(descriptors.size(), kMostMappedMounts);
  for (size_t i = 0; i < count; ++i) fds[i] = descriptors[i].get();
  DescriptorSpace<kMostMappedMounts> space;
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  put_descriptors(header, space.bytes, {fds, count});
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

// What a cell is given to speak and listen through: of each pair one end is the child's.
struct Cell::Ends {
  Pipe control, input, output, errors, reports;
  UniqueFd gateway;
};

Result<void> Cell::make_streams(const Plan& plan, bool null_stdin, Ends& ends) {
  if (plan.terminal != Terminal::kNone) return {};
  if (null_stdin) {
    UniqueFd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    if (!null) return Error::system("open /dev/null");
    ends.input.read = TRY(above_stdio(std::move(null)));
  } else {
    ends.input = TRY(make_pipe());
  }
  ends.output = TRY(make_pipe());
  ends.errors = TRY(make_pipe());
  return {};
}

Result<Cell::Ends> Cell::make_ends(const Plan& plan, LaunchOptions& options,
                                   ChildDescriptors& child) {
  Ends ends;
  ends.control = TRY(make_control_pair());
  if (options.passed.size() > kMostPassed)
    return Error::plain(fmt::format("more than {} descriptors to pass on", kMostPassed),
                        "pass one socket, and send the others through it");
  if (!options.passed.empty())
    ends.control.write = TRY(above_passed(std::move(ends.control.write)));
  TRY(make_streams(plan, options.null_stdin, ends));
  ends.gateway = TRY(above_stdio(std::move(options.gateway)));
  for (UniqueFd& fd : options.passed) {
    fd = TRY(above_passed(std::move(fd)));
    child.passed.push_back(fd.get());
  }
  if (plan.warden && plan.warden->report) {
    ends.reports = TRY(make_control_pair());
    ends.reports.write = TRY(above_passed(std::move(ends.reports.write)));
  }
  child.control = ends.control.write.get();
  child.stdio[0] = ends.input.read.get();
  child.stdio[1] = ends.output.write.get();
  child.stdio[2] = ends.errors.write.get();
  child.gateway = ends.gateway.get();
  child.report = ends.reports.write.get();
  return ends;
}

// The child's go with `ends`: ours must not keep them alive.
void Cell::keep(Ends ends) {
  control_ = std::move(ends.control.read);
  input_ = std::move(ends.input.write);
  output_ = std::move(ends.output.read);
  error_output_ = std::move(ends.errors.read);
  reports_ = std::move(ends.reports.read);
}

Result<void> Cell::begin(const Plan& plan, uint32_t outside, bool inside_cell) {
  block_all_signals();
  int pidfd = -1;
  // With the cell's own id this process may not put anybody into a cgroup of root's: moved later.
  int into = cgroup_ && !plan.throwaway_ids ? cgroup_->clone_into_fd() : -1;
  long pid = 0;
  {
    std::optional<BorrowedId> borrowed;
    if (plan.throwaway_ids) borrowed.emplace(TRY(BorrowedId::take(outside)));
    pid = clone_cell(compiled_->clone_flags(), &pidfd, into);
    if (pid == 0) run_child(compiled_->program());
    if (pid > 0 && !crowded_) begin_on_another_core(static_cast<pid_t>(pid));  // else behind us
  }
  if (pid < 0) return explain_clone_failure(static_cast<int>(-pid), inside_cell);
  pid_ = static_cast<pid_t>(pid);
  pidfd_.reset(pidfd);
  // With a warden there are more of us at work than cores, and who starts a gateway later must not
  // keep it to one.
  if (!plan.warden && !plan.gateway && !crowded_) core_ = std::make_unique<OwnCore>();
  stamps_.cloned = monotonic_ns();
  if (cgroup_ && into < 0) return cgroup_->attach(pid_);
  return {};
}

// Beside the child, which is busy with its mounts until it needs those that only root can map. They
// go to it as soon as it asks, since it waits for them then, and at the latest when all else is
// done. Gives what it joins its cgroup by.
Result<std::vector<UniqueFd>> Cell::provide(const Plan& plan, const std::string& name,
                                            uint32_t outside) {
  bool mounts_due = plan.throwaway_ids;
  auto send_if_asked = [&]() -> Result<void> {
    if (!mounts_due || !has_spoken()) return {};
    mounts_due = false;
    return send_mounts(plan, outside);
  };
  TRY(send_if_asked());
  std::vector<UniqueFd> join;
  if (plan.cgroup.version != CgroupFacts::Version::kV2) {
    TRY(make_cgroup(plan, name, send_if_asked));
    if (cgroup_) join = TRY(cgroup_->join_fds());
  }
  if (mounts_due) TRY(send_mounts(plan, outside));
  return join;
}

Result<Cell> Cell::launch(const Plan& plan, LaunchOptions options) {
  Cell cell;
  cell.stamps_.begin = monotonic_ns();
  ChildDescriptors child{.control = -1, .stdio = {-1, -1, -1}, .window = options.window};
  Ends ends = TRY(make_ends(plan, options, child));
  if (plan.throwaway_ids) child.outside_id = TRY(throwaway_id());
  cell.crowded_ = child.crowded = cores_are_taken();
  child.turn_ns = options.turn_ns;
  cell.compiled_ = compile(plan, child, options.wipe_start, options.wipe_size);
  if (plan.warden) cell.warden_ = &*plan.warden;
  // v2: the cell is born in its cgroup. v1 can't do that: there the folders are made beside the
  // child, and the child moves itself.
  if (plan.cgroup.version == CgroupFacts::Version::kV2) TRY(cell.make_cgroup(plan, options.name));
  TRY(cell.begin(plan, child.outside_id, options.inside_cell));
  cell.keep(std::move(ends));
  options.passed.clear();  // the program's alone from here on
  std::vector<UniqueFd> join = TRY(cell.provide(plan, options.name, child.outside_id));
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

Result<void> Cell::make_cgroup(const Plan& plan, const std::string& name,
                               const std::function<Result<void>()>& between) {
  if (plan.cgroup.slots.empty()) return {};
  if (control_enabled("sweeper"))
    sweeper_.emplace(TRY(CgroupSweeper::start(plan.cgroup, name)));  // first: no folder without one
  cgroup_.emplace(
      TRY(CellCgroup::create(plan.cgroup, name, sweeper_ ? sweeper_->pid() : 0, between)));
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
      warden_(other.warden_),
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

#include "session/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "session/cell_maker.h"
#include "session/cell_words.h"
#include "session/frames.h"
#include "session/kernel_bundle.h"
#include "session/kernel_mutants.h"
#include "session/launch_spec.h"
#include "session/launch_wire.h"
#include "session/slices.h"
#include "session/state_claim.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson::session {

namespace {

constexpr int kServerLost = 1;
constexpr uint64_t kMostLoaded = uint64_t{1} << 45;
constexpr size_t kMostLoads = 64, kMostFileWorks = 256;
constexpr auto kForever = std::chrono::hours(24 * 365);

class Launching {
 public:
  Launching(LauncherOptions options, Result<StateFolders> folders, UniqueFd socket)
      : options_(std::move(options)),
        state_(options_.host.state_folder),
        maker_(loop_, options_.host, std::move(folders)),
        socket_(loop_.get_executor()) {
    boost::system::error_code failed;
    socket_.assign(socket.get(), failed);
    if (!failed) socket.release();
    maker_.bound_loads(options_.offer.base.memory_bytes / 2);
  }

  void run() {
    listen();
    loop_.run();
  }

 private:
  void listen();
  bool obey();
  void follow(LaunchPacket order);
  void sweep_states();
  Result<void> add_kernel(LaunchPacket& order);
  void start_cell(LaunchPacket& order, CellKind kind);
  void make_fork(const LaunchPacket& order);
  Task<> load(LaunchPacket order);
  Result<uint64_t> judge_load(const LaunchPacket& order) const;
  bool is_given(const std::string& path) const;
  Result<UniqueFd> open_workspace(const std::string& path) const;
  Result<FileJob> file_job(LaunchPacket& order, UniqueFd& folder) const;
  Task<> work_on_files(LaunchPacket order);
  void drop(const LaunchPacket& order);
  void tell(uint32_t id, const Result<void>& done);
  Result<ForkLimits> limits_of(const LaunchPacket& order) const;
  void look_at(uint32_t id);
  Task<> tell_memory(uint32_t id, uint64_t cell);
  void work_on_room(const LaunchPacket& order);
  Task<> take_up(uint32_t id, std::string room, std::string session);
  Task<> await_end(uint32_t id, std::shared_ptr<Hold> hold);
  void say(LaunchPacket packet);
  void fail(uint32_t id, const Error& why);
  void end();
  Result<void> check(const LaunchPacket& order, size_t texts, size_t descriptors) const;

  Loop loop_{1};
  LauncherOptions options_;
  std::string state_;
  LocalMaker maker_;
  LoopDescriptor socket_;
  std::map<uint32_t, std::shared_ptr<Hold>> holds_;
  std::set<std::string> given_;                      // folders of the host's that sessions have had
  bool swept_ = false;                               // the states of others
  size_t loading_ = 0;                               // and taking up, at this moment, in slices
  std::map<uint32_t, std::shared_ptr<void>> loans_;  // of loads that the server still has
  std::shared_ptr<Turns> file_turns_ = std::make_shared<Turns>(loop_);
  size_t file_works_ = 0;  // those that wait are counted, too
  UniqueFd kernel_;
};

void Launching::listen() {
  socket_.async_wait(LoopDescriptor::wait_read, [this](const boost::system::error_code& failed) {
    // A server that is gone without a word was killed. Its cells die with this process, and the
    // files of its sessions stay where the next server looks for them.
    if (failed || !obey()) ::_exit(kServerLost);
    listen();
  });
}

// A few at a time: the ends of cells have to be heard as well.
bool Launching::obey() {
  for (int i = 0; i < 16; ++i) {
    Result<std::optional<LaunchPacket>> order = receive_packet(socket_.native_handle());
    if (!order) return false;
    if (!*order) return true;
    follow(std::move(**order));
    if (loop_.stopped()) return true;
  }
  return true;
}

// The quick part first: everything is dead before anything is cleared away.
void Launching::end() {
  for (auto& [id, hold] : holds_) hold->kill();
  if (!options_.remove_at_end.empty()) ::unlink(options_.remove_at_end.c_str());
  holds_.clear();
  if (options_.is_passing && maker_.folders()) drop_passing_state(state_, maker_.trash());
  loop_.stop();
}

Result<void> Launching::check(const LaunchPacket& order, size_t texts, size_t descriptors) const {
  if (order.texts.size() != texts || order.descriptors.size() != descriptors)
    return Error::plain("an order that breaks the launcher's protocol");
  if (holds_.contains(order.id) || holds_.size() >= options_.most_cells)
    return Error::plain("too many cells for one server", "end some sessions first");
  return {};
}

void Launching::follow(LaunchPacket order) {
  switch (order.word) {
    case LaunchWord::kStartOwn:
      return start_cell(order, CellKind::kOwn);
    case LaunchWord::kStartZygote:
      return start_cell(order, CellKind::kZygote);
    case LaunchWord::kMakeFork:
      return make_fork(order);
    case LaunchWord::kLoad:
      return spawn(loop_, load(std::move(order)));
    case LaunchWord::kLoadOver:
      loans_.erase(order.id);
      return;
    case LaunchWord::kLookAt:
      return look_at(order.id);
    case LaunchWord::kEnd:
      if (auto found = holds_.find(order.id); found != holds_.end()) {
        found->second->kill();
        holds_.erase(found);
      }
      return;
    case LaunchWord::kNoteSession:
    case LaunchWord::kKeepWorkspace:
    case LaunchWord::kTakeUp:
      return work_on_room(order);
    case LaunchWord::kDropWorkspace:
      return drop(order);
    case LaunchWord::kIsWritten:
      return say({.word = LaunchWord::kDone,
                  .id = order.id,
                  .number = order.texts.size() == 1 && maker_.is_written_now(order.texts[0])});
    case LaunchWord::kHasRunOut:
      return spawn(loop_, tell_memory(order.id, order.number));
    case LaunchWord::kFileWork:
      return spawn(loop_, work_on_files(std::move(order)));
    case LaunchWord::kBye:
      return end();
    default:
      ::_exit(kServerLost);  // no server of ours says that
  }
}

// Before the first cell: a server that is never used looks at nothing.
void Launching::sweep_states() {
  const std::string& top = options_.host.state_top;
  if (std::exchange(swept_, true) || top.empty() || !maker_.folders()) return;
  sweep_passing_states(top + "/passing", maker_.trash());
  sweep_old_states(top + "/scopes", ::time(nullptr), maker_.trash());
}

// What a cell runs first is ours, and not the server's to choose.
Result<void> Launching::add_kernel(LaunchPacket& order) {
  if (!kernel_) kernel_ = TRY(sealed_memfd("caisson-session", mutated_kernel(kernel_source())));
  order.descriptors.emplace_back(::fcntl(kernel_.get(), F_DUPFD_CLOEXEC, 3));
  if (!order.descriptors.back()) return Error::system("duplicate a descriptor");
  return {};
}

void Launching::start_cell(LaunchPacket& order, CellKind kind) {
  Result<SessionSpec> spec = take_spec(order);
  if (!spec) return fail(order.id, spec.error());
  if (kind == CellKind::kZygote) spec->name = "zygote";
  Result<void> good = check(order, 0, 1);
  if (good) good = judge_spec(options_.offer, *spec);
  // It is handed descriptors that are no cell's to have: what no cell can have changed runs in it.
  if (good && kind == CellKind::kZygote && maker_.is_written_now(spec->python))
    good = Error::plain("a session could write to that Python");
  if (good) good = add_kernel(order);
  if (!good) return fail(order.id, good.error());
  sweep_states();
  Result<std::shared_ptr<Hold>> hold = maker_.start_cell(kind, *spec, std::move(order.descriptors));
  if (!hold) return fail(order.id, hold.error());
  holds_[order.id] = *hold;
  bool has_folder = kind == CellKind::kOwn && !spec->workspace.empty();
  if (has_folder && given_.size() < options_.most_cells) given_.insert(spec->workspace);
  if (kind == CellKind::kOwn) {
    LaunchPacket refusals{.word = LaunchWord::kRefusals, .id = order.id};
    refusals.descriptors.push_back((*hold)->hand_over_refusals());
    say(std::move(refusals));
  }
  spawn(loop_, await_end(order.id, *hold));
}

Task<> Launching::await_end(uint32_t id, std::shared_ptr<Hold> hold) {
  co_await hold->ended(kForever);
  LaunchPacket gone{.word = LaunchWord::kGone, .id = id};
  gone.texts.push_back(hold->last_words());
  hold.reset();
  holds_.erase(id);
  say(std::move(gone));
}

// The key names a folder for rooms, and no more than that: which zygote it is of is the server's
// word, who talks to all of them.
Result<ForkLimits> Launching::limits_of(const LaunchPacket& order) const {
  TRY(check(order, 2, 0));
  TRY(check_name(order.texts[0]));
  ForkLimits limits = TRY(decode_limits(order.texts[1]));
  SessionSpec spec = options_.offer.base;
  spec.name = "fork";
  spec.memory_bytes = limits.memory_bytes;
  spec.cpu_millis = limits.cpu_millis;
  spec.pids = limits.pids;
  TRY(judge_spec(options_.offer, spec));
  return limits;
}

void Launching::make_fork(const LaunchPacket& order) {
  Result<ForkLimits> limits = limits_of(order);
  if (!limits) return fail(order.id, limits.error());
  Result<ForkPlace> place = maker_.make_fork_now(*limits, order.texts[0]);
  if (!place) return fail(order.id, place.error());
  holds_[order.id] = std::move(place->hold);
  LaunchPacket made{.word = LaunchWord::kForkMade, .id = order.id};
  made.texts.push_back(std::move(place->folder));
  // The server's: its next one, after SIGKILL, must not wait for the end of this process.
  if (UniqueFd lock = maker_.take_claim_lock()) {
    made.descriptors.push_back(std::move(lock));
    made.number = 1;
  }
  say(std::move(made));
}

void Launching::look_at(uint32_t id) {
  auto found = holds_.find(id);
  bool lives = found != holds_.end() && found->second->alive();
  LaunchPacket answer{.word = lives ? LaunchWord::kLives : LaunchWord::kGone, .id = id};
  if (!lives && found != holds_.end()) answer.texts.push_back(found->second->last_words());
  say(std::move(answer));
}

Task<> Launching::tell_memory(uint32_t id, uint64_t cell) {
  auto found = cell <= UINT32_MAX ? holds_.find(static_cast<uint32_t>(cell)) : holds_.end();
  std::optional<bool> told;
  std::shared_ptr<Hold> hold = found == holds_.end() ? nullptr : found->second;
  if (hold) told = co_await hold->ran_out_of_memory();
  say({.word = LaunchWord::kDone, .id = id, .number = told ? uint64_t{*told} : kNobodyCanTell});
}

// Which room it is, is told by names that can lead nowhere else.
void Launching::work_on_room(const LaunchPacket& order) {
  std::vector<std::string_view> parts;
  if (order.texts.size() == 2) parts = split(order.texts[0], '/');
  bool known =
      (parts.size() == 3 && parts[0] == "forks") || (parts.size() == 2 && parts[0] == "rooms");
  for (size_t i = 1; i < parts.size(); ++i) known = known && check_name(parts[i]).ok();
  if (!known || !check_name(order.texts[1]).ok())
    return fail(order.id, Error::plain("an order for a room that there is not"));
  std::string room = fmt::format("{}/{}", state_, order.texts[0]);
  const std::string& session = order.texts[1];
  if (order.word == LaunchWord::kNoteSession)
    return (void)maker_.note_session(room, session, order.number != 0);
  if (order.word == LaunchWord::kKeepWorkspace)
    return tell(order.id, maker_.keep_now(room, session, order.number != 0));
  if (loading_ >= kMostLoads)
    return fail(order.id, Error::plain("too much is taken up at a time", "try again later"));
  spawn(loop_, take_up(order.id, std::move(room), session));
}

Task<> Launching::take_up(uint32_t id, std::string room, std::string session) {
  ++loading_;
  Result<bool> taken = co_await maker_.take_up_workspace(std::move(room), std::move(session));
  --loading_;
  if (!taken) co_return fail(id, taken.error());
  say({.word = LaunchWord::kTakenUp, .id = id, .number = *taken});
}

bool Launching::is_given(const std::string& path) const {
  return !path.empty() && (path == options_.offer.base.workspace || given_.contains(path));
}

// The files of a session are its own, though they lie in caisson's state. Below these folders names
// are a cell's, and may be links: so nothing deeper is a workspace, but a branch's own folder.
Result<UniqueFd> Launching::open_workspace(const std::string& path) const {
  const Result<StateFolders>& folders = maker_.folders();
  if (!folders) return folders.error();
  Result<UniqueFd> opened = folders->open_workspace(path, true);
  if (!opened) return Error{"an order for files that are no session's", {}, EACCES};
  return opened;
}

// A name, and no path: nothing but what lies in the folder of workspaces can go.
void Launching::drop(const LaunchPacket& order) {
  Result<void> dropped = Error::plain("an order that breaks the launcher's protocol");
  if (order.texts.size() == 1) dropped = check_name(order.texts[0]);
  if (dropped) dropped = maker_.drop_workspace(order.texts[0]);
  tell(order.id, dropped);
}

// Who gave no number waits for nothing.
void Launching::tell(uint32_t id, const Result<void>& done) {
  if (id == 0) return;
  if (!done) return fail(id, done.error());
  say({.word = LaunchWord::kDone, .id = id, .number = 1});
}

// `opened`: keeps the folder's name good.
Result<FileJob> Launching::file_job(LaunchPacket& order, UniqueFd& opened) const {
  bool writes = order.number == static_cast<uint64_t>(FileDeed::kWrite);
  bool known = options_.file_work && order.number >= 1 && order.number <= 3;
  if (!known || order.texts.size() != 2 || order.descriptors.size() != (writes ? 1 : 0) ||
      order.texts[0].empty())
    return Error{"an order for files that are no session's", {}, EACCES};
  if (file_works_ >= kMostFileWorks)
    return Error{"too much work on files at a time", "try again later", EAGAIN};
  FileJob job{static_cast<FileDeed>(order.number), order.texts[0], std::move(order.texts[1]), {}};
  if (!is_given(job.folder)) {
    opened = TRY(open_workspace(job.folder));
    job.folder = fmt::format("/proc/self/fd/{}/.", opened.get());
  }
  if (!writes) return job;
  ForeignFd bytes(order.descriptors[0].release());
  struct stat info {};
  if (!bytes.is_sealed_memory() || ::fstat(bytes.get(), &info) != 0 ||
      static_cast<uint64_t>(info.st_size) > kMostFileBytes)
    return Error::plain("an order that breaks the launcher's protocol");
  job.bytes = bytes.release();
  return job;
}

// One at a time, in slices: a file may be large, and a folder full.
Task<> Launching::work_on_files(LaunchPacket order) {
  UniqueFd folder;
  Result<FileJob> job = file_job(order, folder);
  if (!job) co_return fail(order.id, job.error());
  std::shared_ptr<Turns> turns = file_turns_;
  ++file_works_;
  Turns::Ticket turn = co_await turns->take();
  Result<FileDone> done = co_await options_.file_work(loop_, std::move(*job));
  --file_works_;
  if (!done) co_return fail(order.id, done.error());
  LaunchPacket answer{.word = LaunchWord::kFileDone, .id = order.id, .number = done->is_listing};
  answer.descriptors.push_back(std::move(done->bytes));
  say(std::move(answer));
}

// How many bytes it may be. What all of them may be together is the maker's to say: a server has
// one load of a session at a time, so the bound here is for one that went mad.
Result<uint64_t> Launching::judge_load(const LaunchPacket& order) const {
  TRY(check(order, 2, 0));
  if (loading_ + loans_.size() >= kMostLoads || loans_.contains(order.id))
    return Error::plain("too many loads at a time", "try again later");
  bool is_bound = options_.offer.choice == Choice::kNothing;
  uint64_t most = is_bound ? options_.offer.base.memory_bytes : kMostLoaded;
  return order.number ? std::min(most, order.number) : most;
}

Task<> Launching::load(LaunchPacket order) {
  Result<uint64_t> most = judge_load(order);
  if (!most) co_return fail(order.id, most.error());
  // One in the state folder is judged by its place, where it is opened.
  std::string workspace;
  if (is_given(order.texts[1]) || order.texts[1].starts_with(state_ + "/"))
    workspace = order.texts[1];
  ++loading_;
  Result<LoadedFiles> files = co_await maker_.load(order.texts[0], workspace, *most);
  --loading_;
  if (!files) co_return fail(order.id, files.error());
  loans_[order.id] = std::move(files->on_loan);
  Slices slices(loop_);
  for (LoadedFile& file : files->files) {
    if (slices.over()) co_await slices.turn();
    LaunchPacket part{.word = LaunchWord::kFile, .id = order.id, .number = file.size};
    part.texts = {std::move(file.key), std::move(file.filename)};
    part.descriptors.push_back(std::move(file.bytes));
    say(std::move(part));
  }
  for (std::string& one : files->left_out) {
    LaunchPacket part{.word = LaunchWord::kLeftOut, .id = order.id};
    part.texts.push_back(std::move(one));
    say(std::move(part));
  }
  say({.word = LaunchWord::kLoaded, .id = order.id, .number = files->is_many});
}

// Waits for a server that is slow to read: it never waits for us.
void Launching::say(LaunchPacket packet) {
  std::string bytes = encode_packet(packet);
  for (;;) {
    Sent sent = send_packet(socket_.native_handle(), bytes, packet.descriptors);
    if (sent != Sent::kLater) return;  // one that is gone is heard of as the end of the socket
    pollfd writable{socket_.native_handle(), POLLOUT, 0};
    ::poll(&writable, 1, 10);
    ::poll(nullptr, 0, 1);  // it may be descriptors under way that are too many, and not bytes
  }
}

void Launching::fail(uint32_t id, const Error& why) {
  LaunchPacket packet{.word = LaunchWord::kFailed, .id = id};
  packet.number = static_cast<uint64_t>(why.errnum);
  packet.texts = {why.what, why.hint};
  say(std::move(packet));
}

// Nothing of the client's comes along: a pipe that is held open here would never end there.
bool let_cell_go(std::vector<int> kept) {
  int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return false;
  for (int fd : {0, 1, 2})
    if (std::ranges::find(kept, fd) == kept.end() && ::dup2(null, fd) < 0) return false;
  std::ranges::sort(kept);
  long from = 3;
  for (long one : kept) {
    if (one > from) sys_call(kernel::kCloseRange, from, one - 1, 0L);
    from = std::max(from, one + 1);
  }
  return sys_call(kernel::kCloseRange, from, 0xffffffffL, 0L) == 0;
}

// It ends when its server says so or is gone, and by nothing that a terminal or a service manager
// sends to all: the server then still has state to save. What it starts has its signals reset.
bool settle(pid_t server, std::vector<int> kept) {
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "caisson-launch");
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != server) return false;
  return let_cell_go(std::move(kept)) && ::chdir("/") == 0;
}

}  // namespace

Result<Launcher> Launcher::start(SessionSpec spec, SessionHostOptions options) {
  return start({.offer = {.base = std::move(spec)}, .host = std::move(options)});
}

// The folders are opened here: the server has read nothing yet, and what the names mean is beyond
// doubt.
Result<Launcher> Launcher::start(LauncherOptions options) {
  Result<StateFolders> folders =
      options.no_state ? *options.no_state
                       : StateFolders::open(options.host.state_folder, options.host.state_top);
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
    return Error::system("make the launcher's sockets");
  UniqueFd ours{fds[0]}, theirs{fds[1]};
  int pidfd = -1;
  pid_t server = ::getpid();
  // Not clone3(2), which Docker's filter and a cell's hide: the server is to come up and say why
  // its cells can't.
  long pid = sys_call(SYS_clone, long{CLONE_PIDFD | SIGCHLD}, 0L, &pidfd, 0L, 0L);
  if (pid == 0) {
    std::vector<int> kept{theirs.get()};
    if (folders) kept = folders->descriptors(), kept.push_back(theirs.get());
    if (!settle(server, std::move(kept))) ::_exit(125);
    {
      Launching launching(std::move(options), std::move(folders), std::move(theirs));
      launching.run();
    }  // what it has made on disk goes here
    ::_exit(0);
  }
  if (pid < 0) return Error::from_errno("start the launcher", static_cast<int>(-pid));
  Launcher launcher;
  launcher.socket_ = std::move(ours);
  launcher.pidfd_.reset(pidfd);
  return launcher;
}

Launcher::Launcher(Launcher&& other) noexcept
    : socket_(std::move(other.socket_)), pidfd_(std::move(other.pidfd_)) {}

// No wait(2): it is reaped with this process, which is about to end.
void Launcher::finish(int most_ms) {
  socket_.reset();
  if (!pidfd_) return;
  pollfd gone{pidfd_.get(), POLLIN, 0};
  while (::poll(&gone, 1, most_ms) < 0 && errno == EINTR) {
  }
  pidfd_.reset();
}

Launcher::~Launcher() { finish(); }

}  // namespace caisson::session

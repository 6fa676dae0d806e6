#include "session/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "session/cell_maker.h"
#include "session/cell_words.h"
#include "session/launch_wire.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson::session {

namespace {

constexpr int kFinishMs = 2000, kServerLost = 1;
// A server has 32 sessions, a zygote and a fork in reserve; this is for one that went mad.
constexpr size_t kMostHolds = 128;
constexpr auto kForever = std::chrono::hours(24 * 365);

class Launching {
 public:
  Launching(SessionSpec spec, const SessionHostOptions& options, UniqueFd socket)
      : spec_(std::move(spec)),
        state_(options.state_folder),
        maker_(loop_, options),
        socket_(loop_.get_executor()) {
    boost::system::error_code failed;
    socket_.assign(socket.get(), failed);
    if (!failed) socket.release();
  }

  void run() {
    listen();
    loop_.run();
  }

 private:
  void listen();
  bool obey();
  void follow(LaunchPacket order);
  void start_cell(LaunchPacket& order, CellKind kind);
  void make_fork(const LaunchPacket& order);
  void load(const LaunchPacket& order);
  void look_at(uint32_t id);
  void work_on_room(const LaunchPacket& order);
  Task<> await_end(uint32_t id, std::shared_ptr<Hold> hold);
  void say(LaunchPacket packet);
  void fail(uint32_t id, const Error& why);
  void end();
  Result<void> check(const LaunchPacket& order, size_t texts, size_t descriptors) const;

  Loop loop_{1};
  SessionSpec spec_;
  std::string state_;
  LocalMaker maker_;
  LoopDescriptor socket_;
  std::map<uint32_t, std::shared_ptr<Hold>> holds_;
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
  holds_.clear();
  loop_.stop();
}

Result<void> Launching::check(const LaunchPacket& order, size_t texts, size_t descriptors) const {
  if (order.texts.size() != texts || order.descriptors.size() != descriptors)
    return Error::plain("an order that breaks the launcher's protocol");
  if (holds_.contains(order.id) || holds_.size() >= kMostHolds)
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
      return load(order);
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
      // A name, and no path: nothing but what lies in the folder of workspaces can go.
      if (order.texts.size() == 1 && check_name(order.texts[0]).ok())
        (void)maker_.drop_workspace(order.texts[0]);
      return;
    case LaunchWord::kBye:
      return end();
    default:
      ::_exit(kServerLost);  // no server of ours says that
  }
}

void Launching::start_cell(LaunchPacket& order, CellKind kind) {
  bool own = kind == CellKind::kOwn;
  Result<void> good = check(order, own ? 1 : 0, 2);
  if (good && own) good = check_name(order.texts[0]);
  if (!good) return fail(order.id, good.error());
  SessionSpec spec = spec_;
  if (own) spec.name = order.texts[0];
  spec.take_up_snapshot = order.number != 0;
  Result<std::shared_ptr<Hold>> hold = maker_.start_cell(kind, spec, std::move(order.descriptors));
  if (!hold) return fail(order.id, hold.error());
  holds_[order.id] = *hold;
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

void Launching::make_fork(const LaunchPacket& order) {
  if (Result<void> good = check(order, 0, 0); !good) return fail(order.id, good.error());
  Result<ForkPlace> place =
      maker_.make_fork_now({spec_.memory_bytes, spec_.cpu_millis, spec_.pids}, zygote_key(spec_));
  if (!place) return fail(order.id, place.error());
  holds_[order.id] = std::move(place->hold);
  LaunchPacket made{.word = LaunchWord::kForkMade, .id = order.id};
  made.texts.push_back(std::move(place->folder));
  made.descriptors = std::move(place->joins);
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
    return maker_.keep_workspace(room, session, order.number != 0);
  Result<bool> taken = maker_.take_up_now(room, session);
  if (!taken) return fail(order.id, taken.error());
  say({.word = LaunchWord::kTakenUp, .id = order.id, .number = *taken});
}

void Launching::load(const LaunchPacket& order) {
  if (Result<void> good = check(order, 2, 0); !good) return fail(order.id, good.error());
  Result<LoadedFiles> files =
      maker_.load_now(order.texts[0], order.texts[1], spec_.memory_bytes / 2);
  if (!files) return fail(order.id, files.error());
  for (LoadedFile& file : files->files) {
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
bool let_go(int socket) {
  int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return false;
  for (int fd : {0, 1, 2})
    if (fd != socket && ::dup2(null, fd) < 0) return false;
  unsigned kept = static_cast<unsigned>(socket);
  if (kept > 3) sys_call(kernel::kCloseRange, 3L, static_cast<long>(kept - 1), 0L);
  return sys_call(kernel::kCloseRange, static_cast<long>(std::max(kept + 1, 3u)), 0xffffffffL,
                  0L) == 0;
}

// It ends when its server says so or is gone, and by nothing that a terminal or a service manager
// sends to all: the server then still has state to save. What it starts has its signals reset.
bool settle(pid_t server, int socket) {
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "caisson-launch");
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != server) return false;
  return let_go(socket) && ::chdir("/") == 0;
}

}  // namespace

Result<Launcher> Launcher::start(SessionSpec spec, SessionHostOptions options) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
    return Error::system("make the launcher's sockets");
  UniqueFd ours{fds[0]}, theirs{fds[1]};
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD;
  args.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  pid_t server = ::getpid();
  long pid = sys_call(kernel::kClone3, &args, long{sizeof args});
  if (pid == 0) {
    if (!settle(server, theirs.get())) ::_exit(125);
    {
      Launching launching(std::move(spec), options, std::move(theirs));
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
void Launcher::finish() {
  socket_.reset();
  if (!pidfd_) return;
  pollfd gone{pidfd_.get(), POLLIN, 0};
  while (::poll(&gone, 1, kFinishMs) < 0 && errno == EINTR) {
  }
  pidfd_.reset();
}

Launcher::~Launcher() { finish(); }

}  // namespace caisson::session

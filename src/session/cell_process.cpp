#include "session/cell_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "session/frames.h"
#include "sys/kernel_numbers.h"

namespace caisson::session {

namespace {

constexpr size_t kMostSaid = 8192;
constexpr int kAbove = 64;  // the numbers below are the child's

// The child's descriptors, told to posix_spawn: no fork of this process, which may be large.
class SpawnActions {
 public:
  SpawnActions() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  void put(int fd, int as) { ::posix_spawn_file_actions_adddup2(&actions_, fd, as); }
  void close_from(int lowest) { ::posix_spawn_file_actions_addclosefrom_np(&actions_, lowest); }
  // The folder we happen to be in is no cell's business.
  void go_to_root() { ::posix_spawn_file_actions_addchdir_np(&actions_, "/"); }
  // A group of its own: a Ctrl-C at our terminal is ours to pass on. Signals as they are at birth.
  void set_signals() {
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  posix_spawn_file_actions_t* actions() { return &actions_; }
  posix_spawnattr_t* attributes() { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

Result<UniqueFd> moved_up(int fd) {
  UniqueFd up{::fcntl(fd, F_DUPFD_CLOEXEC, kAbove)};
  if (!up) return Error::system("duplicate a descriptor");
  return up;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

// Each with a NUL behind it, in memory that only the two of us have.
Result<UniqueFd> hidden_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (word.find('\0') != std::string::npos) return Error::plain("a policy with a NUL in a word");
    text += word;
    text += '\0';
  }
  return sealed_memfd("caisson-words", text);
}

// The descriptors of a `caisson exec`, which it has as 0, 1, 2, …, and what it is told of them.
struct ExecCommand {
  std::vector<std::string> words;
  std::vector<UniqueFd> descriptors;
};

Result<ExecCommand> whole_command(CellStart& start, int errors, int refusals) {
  UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  if (!null) return Error::system("open /dev/null");
  ExecCommand all{{"caisson", "exec", "--die-with", fmt::format("{}", ::getpid()), "--survive-oom"},
                  {}};
  for (int fd : {null.get(), null.get(), errors}) all.descriptors.push_back(TRY(moved_up(fd)));
  auto hand = [&](int fd, const char* option, std::string_view before = {}) -> Result<void> {
    all.words.insert(all.words.end(),
                     {option, fmt::format("{}{}", before, all.descriptors.size())});
    all.descriptors.push_back(TRY(moved_up(fd)));
    return {};
  };
  for (const UniqueFd& fd : start.descriptors) TRY(hand(fd.get(), "--pass-fd"));
  // Behind those of the program, who doesn't get this one.
  TRY(hand(refusals, "--denials-fd"));
  for (const MountedFolder& one : start.mounted)
    TRY(hand(one.folder.get(), "--mount-is", one.target + ":"));
  all.words.insert(all.words.end(), start.words.begin(), start.words.end());
  if (!control_enabled("session-private-words"))
    all.words.insert(all.words.end(), start.private_words.begin(), start.private_words.end());
  else if (!start.private_words.empty())
    TRY(hand(TRY(hidden_words(start.private_words)).get(), "--args-fd"));
  all.words.push_back("--");
  all.words.insert(all.words.end(), start.command.begin(), start.command.end());
  return all;
}

Result<pid_t> spawn_in_cell(CellStart& start, int errors, int refusals) {
  ExecCommand command = TRY(whole_command(start, errors, refusals));
  SpawnActions how;
  const std::vector<UniqueFd>& held = command.descriptors;
  for (size_t i = 0; i < held.size(); ++i) how.put(held[i].get(), static_cast<int>(i));
  how.close_from(static_cast<int>(held.size()));
  how.go_to_root();
  how.set_signals();
  std::vector<char*> argv = pointers(command.words), environment = pointers(start.environment);
  pid_t pid = -1;
  int failed = ::posix_spawn(&pid, start.caisson.c_str(), how.actions(), how.attributes(),
                             argv.data(), environment.data());
  if (failed != 0) return Error::from_errno(fmt::format("start {}", start.caisson), failed);
  return pid;
}

}  // namespace

CellProcess::CellProcess(Loop& loop)
    : loop_(loop), pidfd_(loop.get_executor()), errors_(loop.get_executor()) {}

Result<std::shared_ptr<CellProcess>> CellProcess::start(Loop& loop, CellStart start) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return Error::system("make a pipe");
  UniqueFd reader{fds[0]}, writer{fds[1]};
  ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
  if (::pipe2(fds, O_CLOEXEC) != 0) return Error::system("make a pipe");
  UniqueFd refusals{fds[0]}, refuser{fds[1]};
  ::fcntl(refusals.get(), F_SETFL, O_NONBLOCK);
  auto cell = std::make_shared<CellProcess>(loop);
  cell->refusals_ = RefusalPipe(std::move(refusals));
  cell->pid_ = TRY(spawn_in_cell(start, writer.get(), refuser.get()));
  UniqueFd pidfd{static_cast<int>(::syscall(kernel::kPidfdOpen, cell->pid_, 0))};
  if (!pidfd) return Error::system("watch a cell");  // the destructor kills and reaps by number
  boost::system::error_code failed;
  cell->pidfd_.assign(pidfd.get(), failed);
  if (failed) return Error::plain("watch a cell: " + failed.message());
  pidfd.release();
  cell->errors_.assign(reader.get(), failed);
  if (failed) return Error::plain("watch a cell: " + failed.message());
  reader.release();
  cell->watch_end();
  cell->watch_errors();
  return cell;
}

// The loop may wake without reason: an event of a descriptor that had the same number before.
void CellProcess::watch_end() {
  pidfd_.async_wait(LoopDescriptor::wait_read,
                    [weak = weak_from_this()](const boost::system::error_code& error) {
                      std::shared_ptr<CellProcess> self = weak.lock();
                      if (self && !error && !self->reap(WNOHANG)) self->watch_end();
                    });
}

void CellProcess::watch_errors() {
  errors_.async_wait(LoopDescriptor::wait_read,
                     [weak = weak_from_this()](const boost::system::error_code& error) {
                       if (std::shared_ptr<CellProcess> self = weak.lock(); self && !error)
                         self->hear();
                     });
}

// The first words and the last ones are kept: a cell that can't be made says why at once, one that
// ends says why at the end, and whatever talks in between is not ours to store.
void CellProcess::hear() {
  char bytes[4096];
  for (;;) {
    ssize_t got = errors_.is_open() ? ::read(errors_.native_handle(), bytes, sizeof bytes) : -1;
    if (got < 0 && errno == EAGAIN && errors_.is_open()) break;
    if (got <= 0) return;
    said_.append(bytes, static_cast<size_t>(got));
    if (said_.size() > kMostSaid) said_.erase(kMostSaid / 2, said_.size() - kMostSaid);
  }
  if (pid_ > 0) watch_errors();
}

bool CellProcess::reap(int flags) {
  if (pid_ <= 0) return true;
  pid_t done;
  do done = ::waitpid(pid_, &status_, flags);
  while (done < 0 && errno == EINTR);
  if (done == 0) return false;
  if (errors_.is_open()) hear();
  pid_ = -1;
  boost::system::error_code ignored;
  pidfd_.close(ignored);
  for (Event* one : waiting_) one->set();
  waiting_.clear();
  return true;
}

void CellProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);  // it is our child and not reaped: the number is still its own
  reap(0);
}

CellProcess::~CellProcess() {
  waiting_.clear();
  kill();
}

std::string CellProcess::last_words() const {
  std::string text(trim(said_));
  if (!text.empty() || pid_ > 0) return text;
  if (WIFSIGNALED(status_))
    return fmt::format("its cell was ended by signal {}", WTERMSIG(status_));
  return fmt::format("its cell ended with {}", WEXITSTATUS(status_));
}

Task<> CellProcess::ended(std::chrono::milliseconds patience) {
  auto self = shared_from_this();
  if (!alive()) co_return;
  Event event(loop_);
  waiting_.push_back(&event);
  bool came = co_await event.wait(SteadyClock::now() + patience);
  if (!came) std::erase(waiting_, &event);
}

}  // namespace caisson::session

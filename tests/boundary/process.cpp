#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "places.h"

namespace caisson::boundary {

using Clock = std::chrono::steady_clock;

void Descriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void pause_briefly() {
  timespec five_ms{0, 5'000'000};
  ::nanosleep(&five_ms, nullptr);
}

namespace {

// A clean environment, so that what the tests find is what they put there. The CAISSON_ variables
// pass: one of them names the control that a mutant leaves out.
std::vector<std::string> make_environment(const RunOptions& options) {
  std::map<std::string, std::string> all{{"PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"},
                                         {"HOME", home_folder()},
                                         {"XDG_STATE_HOME", home_folder() + "/state"},
                                         {"LANG", "C.UTF-8"}};
  for (char** entry = environ; *entry; ++entry) {
    std::string word = *entry, name = word.substr(0, word.find('='));
    bool ours = name == "CAISSON_BIN" || name == "CAISSON_PROBES" || name == "CAISSON_SETID";
    if (name.starts_with("CAISSON_") && !ours) all[name] = word.substr(name.size() + 1);
  }
  for (const auto& [name, value] : options.environment) all[name] = value;
  std::vector<std::string> words;
  for (const auto& [name, value] : all) words.push_back(name + "=" + value);
  return words;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

struct Pipe {
  Descriptor read, write;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) ::abort();
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
};

// True while there may be more.
bool read_into(Descriptor& from, std::string& text) {
  constexpr size_t kMost = 256 << 20;
  char buffer[65536];
  ssize_t size = ::read(from.get(), buffer, sizeof buffer);
  if (size > 0 && text.size() < kMost) text.append(buffer, static_cast<size_t>(size));
  if (size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR))) return true;
  from.reset();
  return false;
}

void attach_stdio(const RunOptions& options, int in, int out, int err) {
  if (options.terminal >= 0) {
    ::ioctl(options.terminal, TIOCSCTTY, 1);
    in = out = err = options.terminal;
  }
  if (!options.stdin_path.empty()) in = ::open(options.stdin_path.c_str(), O_RDWR);
  if (!options.stdout_path.empty()) out = ::open(options.stdout_path.c_str(), O_RDWR);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (options.close_stdin) ::close(0);
}

// In the child: a session of its own, its stdio, the limits asked for.
void attach(const RunOptions& options, int in, int out, int err) {
  ::setsid();
  ::signal(SIGPIPE, SIG_DFL);
  attach_stdio(options, in, out, err);
  if (!options.allow_core) return;
  rlimit core{};
  ::getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = core.rlim_max;
  ::setrlimit(RLIMIT_CORE, &core);
}

}  // namespace

Process::Process(const Words& argv, const RunOptions& options)
    : begin_(Clock::now()), deadline_(begin_ + options.deadline) {
  start(argv, options);
}

Process::~Process() {
  if (reaped_ || pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) continue;
}

void Process::start(const Words& argv, const RunOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe in, out, err;
  // Before the fork: the home folder is made once, and removed by this process alone.
  std::vector<std::string> words = argv, environment = make_environment(options);
  std::vector<char*> argv_pointers = pointers(words), environment_pointers = pointers(environment);
  pid_ = ::fork();
  if (pid_ == 0) {
    attach(options, in.read.get(), out.write.get(), err.write.get());
    if (::chdir(options.folder.c_str()) == 0)
      ::execve(argv_pointers[0], argv_pointers.data(), environment_pointers.data());
    ::dprintf(2, "cannot run %s: %s\n", argv_pointers[0], ::strerror(errno));
    ::_exit(127);
  }
  input_ = std::move(in.write);
  output_ = std::move(out.read);
  errors_ = std::move(err.read);
  write_input(options.input);
  if (!options.keep_input_open) input_.reset();
}

bool Process::write_input(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    ssize_t size = ::write(input_.get(), text.data() + at, text.size() - at);
    if (size < 0) return false;
    at += static_cast<size_t>(size);
  }
  return true;
}

void Process::send(int signal) const {
  if (!reaped_) ::kill(pid_, signal);
}

bool Process::collect(Clock::time_point until) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd polls[2] = {{output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}};
  if (::poll(polls, 2, static_cast<int>(std::clamp<long>(left, 0, 20))) < 0) return true;
  if (polls[0].revents) read_into(output_, outcome_.out);
  if (polls[1].revents) read_into(errors_, outcome_.err);
  return output_.get() >= 0 || errors_.get() >= 0;
}

bool Process::ended(int* status) {
  if (!reaped_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) reaped_ = true;
  *status = status_;
  return reaped_;
}

bool Process::wait_for_output(const std::string& text) {
  int status = 0;
  while (outcome_.out.find(text) == std::string::npos) {
    if (Clock::now() > deadline_) return false;
    bool over = ended(&status);
    if (!collect(deadline_) && over) break;
  }
  return outcome_.out.find(text) != std::string::npos;
}

Outcome Process::finish() {
  int status = 0;
  while (!ended(&status)) {
    if (Clock::now() > deadline_) {
      outcome_.late = true;
      ::kill(-pid_, SIGKILL);
      ::kill(pid_, SIGKILL);
      while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) continue;
      reaped_ = true;
    }
    if (!collect(deadline_)) pause_briefly();
  }
  outcome_.duration = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin_);
  outcome_.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  outcome_.signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
  // Its own copies are closed; what is still open belongs to somebody who outlived it.
  auto grace = Clock::now() + 1s;
  while (collect(grace) && Clock::now() < grace) continue;
  outcome_.held_open = output_.get() >= 0 || errors_.get() >= 0;
  return outcome_;
}

Outcome run(const Words& argv, const RunOptions& options) {
  return Process(argv, options).finish();
}

Terminal::Terminal() {
  int master = -1, slave = -1;
  winsize size{24, 80, 0, 0};
  if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0) ::abort();
  for (int fd : {master, slave}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(master, F_SETFL, O_NONBLOCK);
  master_ = Descriptor(master);
  slave_ = Descriptor(slave);
}

std::string Terminal::slave_name() const {
  char name[64] = "";
  ::ttyname_r(slave_.get(), name, sizeof name);
  return name;
}

std::string Terminal::unread_input() {
  // Without line mode: a letter that was typed and not finished with a newline counts too.
  termios mode{};
  ::tcgetattr(slave_.get(), &mode);
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON);
  mode.c_cc[VMIN] = 0;
  mode.c_cc[VTIME] = 0;
  ::tcsetattr(slave_.get(), TCSANOW, &mode);
  char buffer[4096];
  ssize_t size = ::read(slave_.get(), buffer, sizeof buffer);
  return std::string(buffer, size > 0 ? static_cast<size_t>(size) : 0);
}

std::string Terminal::printed() {
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = ::read(master_.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(size));
  return text;
}

}  // namespace caisson::boundary

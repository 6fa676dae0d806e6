#include "setup/claude_cli.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/scope_exit.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace caisson::setup {

namespace {

constexpr int64_t kPatienceMs = 60'000;
constexpr size_t kMaxTalk = 64 * 1024;

int64_t monotonic_now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// What it says until it ends or closes its output. False when that takes too long. The process is
// watched too: something that it left running may hold the pipe open.
bool read_until_end(int fd, int process, std::string& talk) {
  int64_t end = monotonic_now_ms() + kPatienceMs;
  char buffer[4096];
  for (;;) {
    pollfd watched[] = {{.fd = fd, .events = POLLIN, .revents = 0},
                        {.fd = process, .events = POLLIN, .revents = 0}};
    int64_t left = end - monotonic_now_ms();
    if (left <= 0) return false;
    if (::poll(watched, 2, static_cast<int>(left)) <= 0) continue;
    if (!watched[0].revents) return true;
    ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    if (talk.size() < kMaxTalk) talk.append(buffer, static_cast<size_t>(got));
  }
}

std::string last_line(std::string_view talk) {
  talk = trim(talk);
  size_t newline = talk.rfind('\n');
  std::string_view line = newline == std::string_view::npos ? talk : talk.substr(newline + 1);
  return printable(line.substr(0, 300));
}

// The environment, and one variable that keeps the client from calling home for a registration.
std::vector<char*> with_quiet(char** environment) {
  static char quiet[] = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1";
  std::vector<char*> out{quiet};
  for (char** entry = environment; *entry; ++entry)
    if (::strncmp(*entry, quiet, sizeof quiet - 2) != 0) out.push_back(*entry);
  out.push_back(nullptr);
  return out;
}

}  // namespace

std::optional<std::string> find_program(const std::string& path_variable, const std::string& name) {
  for (std::string_view folder : split(path_variable, ':')) {
    if (!folder.starts_with('/')) continue;
    std::string path = std::string(folder) + "/" + name;
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        ::access(path.c_str(), X_OK) == 0)
      return path;
  }
  return {};
}

std::vector<std::string> claude_add_words(const std::string& claude, Scope scope,
                                          const std::string& command) {
  return {
      claude, "mcp",   "add", "--scope", std::string(scope_name(scope)), std::string(kServerName),
      "--",   command, "mcp"};
}

Result<void> run_quietly(const std::vector<std::string>& words, char** environment) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return Error::system("make a pipe");
  UniqueFd from(ends[0]), to(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ScopeExit destroy([&] { ::posix_spawn_file_actions_destroy(&actions); });
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, to.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, to.get(), 2);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  int problem = ::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(),
                              with_quiet(environment).data());
  if (problem) return Error::from_errno("start " + words[0], problem);
  to.reset();
  UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, child, 0))};
  std::string talk;
  bool ended = read_until_end(from.get(), process.get(), talk);
  if (!ended) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!ended) return Error::plain(words[0] + " did not end within a minute");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error::plain(fmt::format("{} says: {}", words[0], last_line(talk)));
  return {};
}

}  // namespace caisson::setup

#include "cases.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace caisson::bench {

namespace {

[[noreturn]] void give_up(const std::string& why) {
  fprintf(stderr, "bench: %s\n", why.c_str());
  exit(1);
}

unsigned number(const char* text) {
  if (!text) give_up("a number is missing");
  int value = atoi(text);
  if (value <= 0) give_up(fmt::format("no number: {}", text));
  return static_cast<unsigned>(value);
}

int null_device() {
  static int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  return fd;
}

std::vector<char*> argument_vector(const Case& which) {
  std::vector<char*> argv;
  for (const std::string& word : which.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  return argv;
}

pid_t spawn(const Case& which, int input, int output, int errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, errors, 2);
  std::vector<char*> argv = argument_vector(which);
  pid_t pid = -1;
  int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) give_up(fmt::format("cannot start {}: {}", argv[0], strerror(error)));
  return pid;
}

}  // namespace

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--case" && i + 1 < argc)
      options.cases.push_back({argv[++i], {}});
    else if (!options.cases.empty())
      options.cases.back().words.push_back(word);
    else if (word == "--label" && i + 1 < argc)
      options.label = argv[++i];
    else if (word == "--rounds")
      options.rounds = number(argv[++i]);
    else if (word == "--busy")
      options.busy = number(argv[++i]);
    else if (word == "--at-once")
      options.at_once = number(argv[++i]);
    else
      give_up(fmt::format("unknown option: {}", word));
  }
  for (const Case& one : options.cases)
    if (one.words.empty()) give_up(fmt::format("--case {} has no command", one.name));
  return options;
}

Others::Others(unsigned for_each_core) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) give_up("cannot count the cores");
  pid_t parent = ::getpid();
  unsigned count = for_each_core * static_cast<unsigned>(CPU_COUNT(&allowed));
  for (unsigned i = 0; i < count; ++i) {
    pid_t pid = ::fork();
    if (pid < 0) give_up("cannot start what computes beside");
    if (pid > 0) {
      pids_.push_back(pid);
      continue;
    }
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(1);
    for (volatile unsigned turns = 0;;) turns = turns + 1;
  }
}

Others::~Others() {
  for (pid_t pid : pids_) ::kill(pid, SIGKILL);
  for (pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
}

double now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

pid_t start(const Case& which, int input, int output) {
  int null = null_device();
  return spawn(which, input < 0 ? null : input, output < 0 ? null : output, null);
}

End finish(pid_t pid) {
  int status = 0;
  rusage usage{};
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  auto milliseconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime)};
}

bool works(const Case& which) {
  int code = finish(spawn(which, null_device(), null_device(), STDERR_FILENO)).code;
  if (code)
    fprintf(stderr, "bench: %s left out: it exits with %d here\n", which.name.c_str(), code);
  return code == 0;
}

Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  auto at = [&](double share) {  // nearest rank
    size_t rank = static_cast<size_t>(share * static_cast<double>(values.size()));
    return values[std::min(rank, values.size() - 1)];
  };
  double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {at(0.1), at(0.5), at(0.9), at(0.99), sum / static_cast<double>(values.size())};
}

std::string line_start(const Options& options, const Case& which,
                       const std::vector<double>& values) {
  Summary all = summarize(values);
  return fmt::format(
      "{{\"case\":\"{}\",\"name\":\"{}\",\"user\":\"{}\",\"n\":{},\"p10_ms\":{:.3f},"
      "\"p50_ms\":{:.3f},\"p90_ms\":{:.3f},\"p99_ms\":{:.3f},\"mean_ms\":{:.3f}",
      options.label, which.name, ::geteuid() == 0 ? "root" : "user", values.size(), all.p10,
      all.p50, all.p90, all.p99, all.mean);
}

}  // namespace caisson::bench

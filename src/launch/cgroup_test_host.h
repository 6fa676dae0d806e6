// For the tests of cgroups: where this host lets us make them, and processes to put there.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "base/text.h"
#include "base/unique_fd.h"
#include "host/cgroup_probe.h"
#include "plan/plan.h"

namespace caisson::test {

inline std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline bool write_text(const std::string& path, const std::string& text) {
  UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}
inline bool is_folder(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}
inline bool has_line(const std::string& text, const std::string& line) {
  for (std::string_view each : split(text, '\n'))
    if (each == line) return true;
  return false;
}

// The slots of cgroup v1 that this user can write; none on other hosts and for other users.
inline CgroupPlan v1_plan() {
  CgroupFacts facts = probe_cgroups();
  CgroupPlan plan{CgroupFacts::Version::kV1, {}, {}};
  if (facts.version == CgroupFacts::Version::kV1) plan.slots = facts.slots;
  return plan;
}
inline CgroupPlan only(CgroupPlan plan, const std::string& controller) {
  std::erase_if(plan.slots, [&](const CgroupSlot& s) { return s.controller != controller; });
  return plan;
}

// The top of the v2 hierarchy, where this user can write it; else "".
inline std::string v2_top() {
  for (std::string top : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
    if (::access((top + "/cgroup.controllers").c_str(), F_OK) == 0 &&
        ::access(top.c_str(), W_OK) == 0)
      return top;
  return "";
}

// A forked process; killed and reaped when dropped.
class Process {
 public:
  explicit Process(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    body();
    ::_exit(0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  pid_t pid() const { return pid_; }
  int wait() {
    int status = -1;
    while (pid_ > 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
};

inline void pause_forever() {
  for (;;) ::pause();
}

struct Pipe {
  UniqueFd read, write;
  Pipe() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) ::abort();
    read.reset(fds[0]);
    write.reset(fds[1]);
  }
  // What was written until the last writer went.
  std::string drain() {
    write.reset();
    std::string text;
    char buffer[512];
    for (ssize_t got; (got = ::read(read.get(), buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<size_t>(got));
    return text;
  }
  void say(const std::string& text) {
    if (::write(write.get(), text.data(), text.size()) < 0) ::abort();
  }
  std::string line() {
    std::string text;
    char c;
    while (::read(read.get(), &c, 1) == 1 && c != '\n') text += c;
    return text;
  }
};

inline bool wakes(int fd, short events, int milliseconds) {
  pollfd wait{fd, events, 0};
  return ::poll(&wait, 1, milliseconds) == 1;
}

}  // namespace caisson::test

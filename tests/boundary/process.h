// Running a program from a test: with a deadline, whole output, and nothing left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::boundary {

using Words = std::vector<std::string>;
using namespace std::chrono_literals;

// A descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset();
  int get() const { return fd_; }

 private:
  int fd_;
};

struct RunOptions {
  std::vector<std::pair<std::string, std::string>> environment;  // on top of the suite's own
  std::string folder = "/";
  std::string input;                    // all of standard input
  bool keep_input_open = false;         // for write_input(); else it ends behind `input`
  std::string stdin_path, stdout_path;  // files of the host in place of the pipes
  bool close_stdin = false;
  int terminal = -1;        // the slave of a pty: stdio and controlling terminal of the child
  bool allow_core = false;  // raise RLIMIT_CORE as far as it goes
  std::chrono::milliseconds deadline = 30s;
};

struct Outcome {
  int code = -1;           // exit code, or -1
  int signal = 0;          // what ended it, if a signal did
  bool late = false;       // the deadline passed, and it was killed
  bool held_open = false;  // somebody kept its output open after it had ended
  std::string out, err;
  std::chrono::milliseconds duration{0};
};

// One running program, in a session of its own. Killed, with its process group, when it goes.
class Process {
 public:
  Process(const Words& argv, const RunOptions& options = {});
  Process(const Process&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  bool write_input(const std::string& text);
  void close_input() { input_.reset(); }
  void send(int signal) const;
  // Reads until `text` is in the output; false at the deadline or when the program has ended.
  bool wait_for_output(const std::string& text);
  // Waits for the end, to the deadline of the options.
  Outcome finish();

 private:
  void start(const Words& argv, const RunOptions& options);
  bool collect(std::chrono::steady_clock::time_point until);  // false: both outputs have ended
  bool ended(int* status);

  pid_t pid_ = -1;
  bool reaped_ = false;
  int status_ = 0;
  Descriptor input_, output_, errors_;
  std::chrono::steady_clock::time_point begin_, deadline_;
  Outcome outcome_;
};

Outcome run(const Words& argv, const RunOptions& options = {});

// A terminal of the test's own: the caller's terminal, from caisson's point of view.
class Terminal {
 public:
  Terminal();
  int master() const { return master_.get(); }
  int slave() const { return slave_.get(); }
  std::string slave_name() const;
  // What has been typed into it and nobody has read; never blocks.
  std::string unread_input();
  // What was printed to it so far.
  std::string printed();

 private:
  Descriptor master_, slave_;
};

// Calls `done` until it is true or the time is over; the answer is its last one.
template <typename Done>
bool eventually(Done done, std::chrono::milliseconds limit = 5s);

void pause_briefly();

template <typename Done>
bool eventually(Done done, std::chrono::milliseconds limit) {
  auto until = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) return done();
    pause_briefly();
  }
  return true;
}

}  // namespace caisson::boundary

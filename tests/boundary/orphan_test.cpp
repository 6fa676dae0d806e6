// Claim: a supervisor that dies before its cell has drawn the first breath leaves no cell behind.
//
// The parent-death signal protects from the moment on when the child has asked for it. On a busy
// machine the supervisor can be through with all its work, and be killed, before that moment.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

std::string line_of(pid_t pid, const std::string& name) {
  for (const std::string& line : lines(read_file("/proc/" + std::to_string(pid) + "/status")))
    if (line.starts_with(name)) return line;
  return "";
}

// Two numbers: one in the host's pid namespace, one in its own.
bool is_first_of_a_cell(pid_t pid) {
  std::string numbers = line_of(pid, "NSpid:");
  return numbers.ends_with("\t1") && numbers != "NSpid:\t1";
}

bool has_state(pid_t pid, const char* state) {
  return line_of(pid, "State:").find(state) != std::string::npos;
}
bool sleeps(pid_t pid) { return has_state(pid, "S ("); }
// Whoever adopts it may take its time to collect it.
bool has_ended(pid_t pid) {
  return !exists("/proc/" + std::to_string(pid)) || has_state(pid, "Z (");
}

// Traces caisson until it has made its cell; the first process of that is left standing at its very
// first instruction. 0 when there was none.
class HeldCell {
 public:
  explicit HeldCell(const Words& command)
      : caisson_(
            Words{"/bin/sh", "-c", "echo waiting; read go; exec \"$@\"", "sh"} + exec_line(command),
            {.keep_input_open = true}) {
    if (!caisson_.wait_for_output("waiting\n")) return;
    int options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
    if (::ptrace(PTRACE_SEIZE, caisson_.pid(), 0, options) != 0) return;
    caisson_.write_input("go\n");
    auto until = std::chrono::steady_clock::now() + 10s;
    while (!first_ && std::chrono::steady_clock::now() < until) follow();
  }
  ~HeldCell() {
    if (first_) ::kill(first_, SIGKILL);
  }
  pid_t first() const { return first_; }
  // All that can be done without the cell is done when the supervisor waits for it.
  bool wait_until_calm() {
    int calm = 0;
    return eventually([&] {
      follow();
      calm = sleeps(caisson_.pid()) ? calm + 1 : 0;
      return calm > 20;
    });
  }
  void let_go() const { ::ptrace(PTRACE_DETACH, first_, 0, 0); }
  void kill_supervisor() {
    caisson_.send(SIGKILL);
    caisson_.finish();
  }

 private:
  void follow() {
    int status = 0;
    pid_t pid = ::waitpid(-1, &status, __WALL | WNOHANG);
    if (pid <= 0) return pause_briefly();
    if (!WIFSTOPPED(status)) return;
    if (pid != caisson_.pid()) {
      if (is_first_of_a_cell(pid))
        first_ = pid;
      else
        ::ptrace(PTRACE_DETACH, pid, 0, 0);
      return;
    }
    bool of_tracing = status >> 16 != 0;
    ::ptrace(PTRACE_CONT, pid, 0, of_tracing ? 0 : WSTOPSIG(status));
  }

  Process caisson_;
  pid_t first_ = 0;
};

TEST(Orphan, T29_T39_ACellWhoseSupervisorDiedFirstNeverRuns) {
  const std::string marker = random_word();
  HeldCell cell({"/probe/probe", "sleep-long", "60", marker});
  ASSERT_NE(cell.first(), 0);
  ASSERT_TRUE(cell.wait_until_calm());
  cell.kill_supervisor();
  cell.let_go();
  // By its number: on its way to the program it wipes the words that name it.
  EXPECT_TRUE(eventually([&] { return has_ended(cell.first()); }))
      << "the cell runs without a supervisor";
  for (pid_t pid : processes_with(marker)) ::kill(pid, SIGKILL);
}

TEST(Orphan, T29_ControlACellThatIsOnlyHeldUpRuns) {
  const std::string marker = random_word();
  HeldCell cell({"/probe/probe", "sleep-long", "60", marker});
  ASSERT_NE(cell.first(), 0);
  ASSERT_TRUE(cell.wait_until_calm());
  cell.let_go();
  EXPECT_TRUE(eventually([&] {
    for (pid_t pid : processes_with(marker))
      if (read_file("/proc/" + std::to_string(pid) + "/cmdline").starts_with("/probe/"))
        return true;
    return false;
  }));
  cell.kill_supervisor();
  EXPECT_TRUE(eventually([&] { return processes_with(marker).empty(); }));
}

// A caller that is to die with its own parent asks for that before it becomes caisson. For root's
// cells caisson changes its ids for a moment, and the kernel forgets the wish with every such
// change.
TEST(Orphan, T29_TheCallersOwnParentDeathSignalHolds) {
  // sh (the parent) starts caisson through a program that sets the signal, and is killed.
  const std::string script =
      "python3 -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); "
      "os.execv(sys.argv[1], sys.argv[1:])' \"$@\" & echo $!; wait";
  Words line = Words{"/bin/sh", "-c", script, "sh"} +
               exec_line({"/bin/sh", "-c", "echo up; exec sleep 600"});
  Process parent(line);
  ASSERT_TRUE(parent.wait_for_output("up\n"));
  parent.send(SIGKILL);
  Outcome outcome = parent.finish();
  pid_t caisson = std::stoi(lines(outcome.out)[0]);
  EXPECT_TRUE(eventually([&] {
    std::string state = line_of(caisson, "State:");
    return state.empty() || state.find("Z (") != std::string::npos;
  }));
}

}  // namespace
}  // namespace caisson::boundary

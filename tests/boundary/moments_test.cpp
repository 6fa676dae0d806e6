// Claim: what was looked at is what is mounted, at whatever moment a folder turns into a link.
//
// Where race_test.cpp tries its luck, this one stops caisson before each of its system calls that
// name it, one run for each, and makes the change just there.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <functional>
#include <map>

#include "cell.h"

namespace caisson::boundary {
namespace {

// Which argument of the call is a path; -1: none, and the call is of no interest here.
int path_argument(uint64_t number) {
  static const std::map<long, int> kCalls = {
#ifdef SYS_open
      {SYS_open, 0},          {SYS_stat, 0},           {SYS_lstat, 0},
      {SYS_readlink, 0},      {SYS_access, 0},
#endif
      {SYS_openat, 1},        {SYS_newfstatat, 1},     {SYS_readlinkat, 1},
      {SYS_statx, 1},         {SYS_faccessat, 1},      {439 /* faccessat2 */, 1},
      {437 /* openat2 */, 1}, {428 /* open_tree */, 1}};
  auto found = kCalls.find(static_cast<long>(number));
  return found == kCalls.end() ? -1 : found->second;
}

std::string text_at(pid_t pid, uint64_t address) {
  char text[512] = "";
  iovec here{text, sizeof text - 1}, there{reinterpret_cast<void*>(address), sizeof text - 1};
  ssize_t size = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
  return size > 0 ? text : "";
}

// A change before any other call is the same as one before the next of these.
bool enters_a_call_about(pid_t pid, const std::string& path) {
  __ptrace_syscall_info info{};
  long size = ::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
  if (size <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY) return false;
  if (info.entry.nr == 435 /* clone3: the cell goes on by itself */) return true;
  int argument = path_argument(info.entry.nr);
  return argument >= 0 && text_at(pid, info.entry.args[argument]).starts_with(path);
}

// Runs to the `moment`-th such call; false when the program ended before.
bool follow(pid_t pid, const std::string& path, int moment) {
  int seen = 0;
  for (siginfo_t what{}; ::waitid(P_PID, pid, &what, WEXITED | WSTOPPED | WNOWAIT) == 0;) {
    if (what.si_code == CLD_EXITED || what.si_code == CLD_KILLED)
      return false;  // finish() reaps it
    int status = 0;
    ::waitpid(pid, &status, __WALL);
    int signal = WSTOPSIG(status);
    bool of_call = signal == (SIGTRAP | 0x80), of_tracing = status >> 16 != 0;
    if (of_call && enters_a_call_about(pid, path) && ++seen == moment) return true;
    if (::ptrace(PTRACE_SYSCALL, pid, 0, of_call || of_tracing ? 0 : signal) != 0) return false;
  }
  return false;
}

struct Moment {
  bool reached = false;
  Outcome outcome;
};

Moment run_with_change(const Words& argv, const std::string& path, int moment,
                       const std::function<void()>& change) {
  Process program(Words{"/bin/sh", "-c", "echo waiting; read go; exec \"$@\"", "sh"} + argv,
                  {.keep_input_open = true});
  EXPECT_TRUE(program.wait_for_output("waiting\n"));
  int options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  EXPECT_EQ(::ptrace(PTRACE_SEIZE, program.pid(), 0, options), 0);
  program.write_input("go\n");
  program.close_input();
  Moment result;
  int status = 0;  // the exec is the beginning; what the shell did before is not counted
  if (::waitpid(program.pid(), &status, __WALL) == program.pid() && WIFSTOPPED(status) &&
      ::ptrace(PTRACE_SYSCALL, program.pid(), 0, 0) == 0)
    result.reached = follow(program.pid(), path, moment);
  if (result.reached) {
    change();
    ::ptrace(PTRACE_DETACH, program.pid(), 0, 0);
  }
  result.outcome = program.finish();
  result.outcome.out.erase(0, std::string("waiting\n").size());
  return result;
}

struct Stage {
  TempFolder folder;
  Stage() {
    for (const char* place : {"slot", "vault"}) {
      make_folder(folder / place + "/source");
      write_file(folder / place + "/source/who", place);
    }
    if (::symlink((folder / "vault").c_str(), (folder / "swap").c_str()) != 0) ::perror("symlink");
  }
  void exchange() const {
    ::renameat2(AT_FDCWD, (folder / "slot").c_str(), AT_FDCWD, (folder / "swap").c_str(),
                RENAME_EXCHANGE);
  }
  Words command() const {
    return exec_line({"/bin/cat", "/given/who"},
                     mount(folder / "slot/source", "/given", "rw") + Words{"--json-output"});
  }
};

// Digest and content of a run; both empty when the cell was refused, which is right at any moment.
std::pair<std::string, std::string> seen_in(const Outcome& outcome) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(outcome.out, error);
  if (error || !value.is_object() || value.at("status") != "ok") return {};
  return {std::string(value.at("policy_digest").as_string()),
          std::string(value.at("stdout").as_string())};
}

TEST(Moments, T03_T04_NoMomentIsRightForSwappingAParentForALink) {
  Stage stage;
  auto [harmless, slot] = seen_in(run(stage.command()));
  stage.exchange();
  auto [linked, vault] = seen_in(run(stage.command()));
  stage.exchange();
  ASSERT_EQ(slot, "slot");
  ASSERT_EQ(vault, "vault");  // control: a link that stands still is followed, and the digest tells
  ASSERT_NE(harmless, linked);
  std::map<std::string, std::string> content_of{{harmless, "slot"}, {linked, "vault"}};
  int moments = 0, made = 0;
  for (int moment = 1; moment < 300; ++moment) {
    Moment one =
        run_with_change(stage.command(), stage.folder / "slot", moment, [&] { stage.exchange(); });
    if (!one.reached) break;
    stage.exchange();
    ++moments;
    auto [digest, content] = seen_in(one.outcome);
    if (digest.empty()) continue;
    ++made;
    EXPECT_EQ(content, content_of[digest]) << "at moment " << moment;
  }
  EXPECT_GE(moments, 4) << "control: caisson was stopped while it looked";
  EXPECT_GE(made, 1);  // before the first look a change is no race, but the caller's wish
}

}  // namespace
}  // namespace caisson::boundary

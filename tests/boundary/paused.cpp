#include "paused.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace caisson::boundary {

namespace {

bool enters_clone3(pid_t pid) {
  __ptrace_syscall_info info{};
  long size = ::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
  return size > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_clone3;
}

// From stop to stop; false when the program ended before it came there.
bool follow_to_clone3(pid_t pid) {
  for (int status = 0; ::waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);) {
    int signal = WSTOPSIG(status);
    bool of_syscall = signal == (SIGTRAP | 0x80), of_tracing = status >> 16 != 0;
    if (of_syscall && enters_clone3(pid)) return true;
    unsigned long deliver = of_syscall || of_tracing ? 0 : static_cast<unsigned long>(signal);
    if (::ptrace(PTRACE_SYSCALL, pid, 0, deliver) != 0) return false;
  }
  return false;
}

}  // namespace

Outcome run_paused_before_clone(const Words& argv, const std::function<void()>& meanwhile) {
  Words words{"/bin/sh", "-c", "echo waiting; read go; exec \"$@\"", "sh"};
  words.insert(words.end(), argv.begin(), argv.end());
  Process program(words, {.keep_input_open = true});
  EXPECT_TRUE(program.wait_for_output("waiting\n"));
  bool seized =
      ::ptrace(PTRACE_SEIZE, program.pid(), 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0 &&
      ::ptrace(PTRACE_INTERRUPT, program.pid(), 0, 0) == 0;
  EXPECT_TRUE(seized) << "a child can be traced";
  program.write_input("go\n");
  program.close_input();
  bool there = seized && follow_to_clone3(program.pid());
  EXPECT_TRUE(there) << "caisson made no process by clone3";
  if (there) {
    meanwhile();
    ::ptrace(PTRACE_DETACH, program.pid(), 0, 0);
  }
  Outcome outcome = program.finish();
  if (outcome.out.starts_with("waiting\n")) outcome.out.erase(0, 8);
  return outcome;
}

}  // namespace caisson::boundary

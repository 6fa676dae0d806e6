#include "host/trial.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "sys/raw_syscall.h"

namespace caisson {
namespace {

std::string children() {
  std::string text;
  std::getline(std::ifstream("/proc/thread-self/children"), text);
  return text;
}

TEST(Trial, ReportsEachStepAndLeavesTheRestUntried) {
  Trial trial = run_trial(0, [](TrialSteps steps) {
    steps.take(0, [] { return 7L; });
    steps.take(1, [] { return long{-EACCES}; });
  });
  EXPECT_TRUE(trial.born());
  EXPECT_TRUE(trial.attempt(0, "a").worked());
  EXPECT_EQ(trial.attempt(1, "b"), (Attempt{EACCES, "b"}));
  EXPECT_EQ(trial.steps[2], Attempt::kNotTried);
}

TEST(Trial, RunsInAProcessOfItsOwnThatIsReaped) {
  pid_t self = ::getpid();
  std::string before = children();
  Trial trial = run_trial(0, [=](TrialSteps steps) {
    steps.take(0, [=] { return sys_call(SYS_getppid) == self ? 0L : long{-ECHILD}; });
  });
  EXPECT_EQ(trial.steps[0], 0);
  EXPECT_EQ(children(), before);
}

TEST(Trial, AChildThatAFilterKillsReadsAsACallThatIsNotThere) {
  Trial trial = run_trial(0, [](TrialSteps steps) {
    steps.take(0, [] {
      sys_call(SYS_kill, sys_call(SYS_getpid), long{SIGSYS});
      return 0L;
    });
  });
  EXPECT_EQ(trial.steps[0], ENOSYS);
}

TEST(Trial, AChildThatHangsIsEnded) {
  std::string before = children();
  unsigned long no_signals = 0;
  auto hang = [&](TrialSteps steps) {
    steps.take(0, [&] { return sys_call(SYS_rt_sigsuspend, &no_signals, 8L); });
  };
  Trial trial = run_trial(0, hang, std::chrono::milliseconds(1));
  EXPECT_TRUE(trial.steps[0] == ETIMEDOUT || trial.steps[0] == Attempt::kNotTried);
  EXPECT_EQ(children(), before);
}

}  // namespace
}  // namespace caisson

#include "sys/short_turns.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace caisson {
namespace {

uint64_t turn_of_this_process() {
  kernel::SchedulerAttributes own{};
  return read_turns(own) ? own.runtime : 0;
}

// In a process of its own: a turn that was made shorter is inherited by every later test.
template <typename Body>
int in_a_child(Body body) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ShortTurns : public testing::Test {
 protected:
  void SetUp() override {
    if (turn_of_this_process() == 0) GTEST_SKIP() << "this kernel (before 6.12) has no such turns";
  }
};

TEST_F(ShortTurns, TheyAreShortAndCanBeGivenBack) {
  EXPECT_EQ(in_a_child([] {
              uint64_t before = turn_of_this_process();
              if (take_short_turns() != before) return 1;
              if (turn_of_this_process() != kShortTurnNs) return 2;
              if (!take_turns_of(before)) return 3;
              return turn_of_this_process() == before ? 0 : 4;
            }),
            0);
}

TEST_F(ShortTurns, AChildInheritsThem) {
  EXPECT_EQ(in_a_child([] {
              take_short_turns();
              return in_a_child([] { return turn_of_this_process() == kShortTurnNs ? 0 : 1; });
            }),
            0);
}

TEST_F(ShortTurns, WhoHasThemHasNothingToGiveBack) {
  EXPECT_EQ(in_a_child([] {
              take_short_turns();
              return take_short_turns() == 0 && !take_turns_of(0) ? 0 : 1;
            }),
            0);
}

// The caller's own choice of who goes first is left alone.
TEST_F(ShortTurns, AnIdlePolicyStays) {
  EXPECT_EQ(in_a_child([] {
              sched_param none{};
              if (::sched_setscheduler(0, SCHED_IDLE, &none) != 0) return 1;
              if (take_short_turns() != 0) return 2;
              return ::sched_getscheduler(0) == SCHED_IDLE ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace caisson

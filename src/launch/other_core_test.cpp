#include "launch/other_core.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include <fmt/format.h>

namespace caisson {
namespace {

// proc(5): the 39th field of stat, the 37th after the name in brackets.
int core_of(pid_t process) {
  char text[1024]{};
  std::FILE* file = std::fopen(fmt::format("/proc/{}/stat", process).c_str(), "re");
  if (!file) return -1;
  size_t size = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  std::string_view rest(text, size);
  rest.remove_prefix(rest.rfind(')') + 2);
  for (int field = 0; field < 36; ++field) rest.remove_prefix(rest.find(' ') + 1);
  return std::atoi(rest.data());
}

class OtherCore : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::sched_getaffinity(0, sizeof all_, &all_), 0);
    if (CPU_COUNT(&all_) < 2) GTEST_SKIP() << "there is one core only";
    CPU_ZERO(&here_);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &here_);
    ASSERT_EQ(::sched_setaffinity(0, sizeof here_, &here_), 0);  // so that "here" stays what it is
    child_ = ::fork();
    if (child_ == 0)
      for (;;) ::pause();
    ASSERT_GT(child_, 0);
    ASSERT_EQ(::sched_setaffinity(0, sizeof all_, &all_), 0);
    ASSERT_EQ(::sched_setaffinity(child_, sizeof all_, &all_), 0);
  }
  void TearDown() override {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  cpu_set_t all_, here_;
  pid_t child_ = -1;
};

TEST_F(OtherCore, AChildMayRunWhereItMightBefore) {
  begin_on_another_core(child_);
  cpu_set_t found;
  ASSERT_EQ(::sched_getaffinity(child_, sizeof found, &found), 0);
  EXPECT_TRUE(CPU_EQUAL(&found, &all_));
}

TEST_F(OtherCore, ABusyChildIsMoved) {
  pid_t busy = ::fork();
  if (busy == 0)
    for (;;) ::sched_yield();
  ASSERT_GT(busy, 0);
  ASSERT_EQ(::sched_setaffinity(0, sizeof here_, &here_), 0);
  ASSERT_EQ(::sched_setaffinity(busy, sizeof here_, &here_), 0);
  int before = core_of(busy);
  EXPECT_TRUE(CPU_ISSET(static_cast<unsigned>(before), &here_));
  ASSERT_EQ(::sched_setaffinity(0, sizeof all_, &all_), 0);
  int own = ::sched_getcpu();
  begin_on_another_core(busy);
  // Either it has left the core that it was on, or this process had left it before.
  EXPECT_TRUE(core_of(busy) != before || own != before);
  ::kill(busy, SIGKILL);
  ::waitpid(busy, nullptr, 0);
}

TEST_F(OtherCore, WhoHoldsItsCoreStaysThereAndGoesOnAsBefore) {
  auto allowed = [] {
    cpu_set_t found;
    CPU_ZERO(&found);
    EXPECT_EQ(::sched_getaffinity(0, sizeof found, &found), 0);
    return found;
  };
  {
    OwnCore core;
    cpu_set_t now = allowed();
    EXPECT_EQ(CPU_COUNT(&now), 1);
    EXPECT_TRUE(CPU_ISSET(static_cast<unsigned>(::sched_getcpu()), &now));
    core.leave();
    now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&now, &all_));
  }
  { OwnCore core; }
  cpu_set_t after = allowed();
  EXPECT_TRUE(CPU_EQUAL(&after, &all_));
}

TEST_F(OtherCore, CoresThatAllHaveWorkAreTaken) {
  std::vector<pid_t> busy;
  for (int i = 0; i < CPU_COUNT(&all_); ++i) {
    busy.push_back(::fork());
    if (busy.back() == 0)
      for (volatile unsigned turns = 0;;) turns = turns + 1;
  }
  EXPECT_TRUE(cores_are_taken());
  for (pid_t one : busy) {
    ::kill(one, SIGKILL);
    ::waitpid(one, nullptr, 0);
  }
}

TEST_F(OtherCore, NobodyIsNoTrouble) { begin_on_another_core(-1); }

TEST(RunningNow, IsTheFourthWord) {
  EXPECT_EQ(running_now("0.20 0.18 0.12 1/80 11206\n"), 1);
  EXPECT_EQ(running_now("31.50 20.00 7.12 113/9080 4194303\n"), 113);
}

TEST(RunningNow, WhatIsNoSuchLineTellsOfNobody) {
  for (const char* text : {"", "1", "1 2 3", "1 2 3 ", "1 2 3 x/4 5", "\n\n\n\n"})
    EXPECT_EQ(running_now(text), 0) << text;
}

}  // namespace
}  // namespace caisson

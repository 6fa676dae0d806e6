#include "launch/cgroup_sweeper.h"

#include <gtest/gtest.h>

#include "launch/cell_cgroup.h"
#include "launch/cgroup_names.h"
#include "launch/cgroup_test_host.h"

namespace caisson {
namespace {

using namespace test;

// Waits for a process that was handed to us when its parent died.
int wait_for_orphan(pid_t pid) {
  int status = -1;
  while (::waitpid(pid, &status, __WALL) < 0 && errno == EINTR) {
  }
  return status;
}

class Sweeper : public testing::Test {
 protected:
  Sweeper() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Sweeper() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  // Where this user can't make v1 cgroups, the sweeper has nothing to remove, and must still end.
  CgroupPlan plan_ = v1_plan();
  std::string name_ = new_cgroup_name();
};

TEST_F(Sweeper, ASupervisorKilledBySigkillLeavesNoCgroupAndNoProcess) {
  Pipe report;
  Process supervisor([&] {
    Result<CgroupSweeper> sweeper = CgroupSweeper::start(plan_, name_);
    if (!sweeper.ok()) ::_exit(1);
    Result<CellCgroup> cell = CellCgroup::create(plan_, name_, sweeper->pid());
    if (!cell.ok()) ::_exit(2);
    Process inside(pause_forever);
    if (!cell->attach(inside.pid()).ok()) ::_exit(3);
    report.say(std::to_string(sweeper->pid()) + "\n" + std::to_string(inside.pid()) + "\n");
    pause_forever();
  });
  pid_t sweeper = std::atoi(report.line().c_str());
  pid_t inside = std::atoi(report.line().c_str());
  ASSERT_GT(sweeper, 0);
  ASSERT_GT(inside, 0);
  for (const CgroupSlot& slot : plan_.slots)
    EXPECT_TRUE(is_folder(slot.directory + "/" + name_)) << slot.directory;

  ::kill(supervisor.pid(), SIGKILL);
  EXPECT_EQ(WTERMSIG(supervisor.wait()), SIGKILL);
  if (plan_.slots.empty()) ::kill(inside, SIGKILL);
  EXPECT_EQ(wait_for_orphan(sweeper), 0);
  EXPECT_EQ(WTERMSIG(wait_for_orphan(inside)), SIGKILL);
  for (const CgroupSlot& slot : plan_.slots)
    EXPECT_FALSE(is_folder(slot.directory + "/" + name_)) << slot.directory;
}

TEST_F(Sweeper, ASupervisorThatDiesBeforeTheFoldersExistIsNoTrouble) {
  Pipe report;
  Process supervisor([&] {
    Result<CgroupSweeper> sweeper = CgroupSweeper::start(plan_, name_);
    if (!sweeper.ok()) ::_exit(1);
    report.say(std::to_string(sweeper->pid()) + "\n");
    ::kill(::getpid(), SIGKILL);
  });
  pid_t sweeper = std::atoi(report.line().c_str());
  ASSERT_GT(sweeper, 0);
  EXPECT_EQ(WTERMSIG(supervisor.wait()), SIGKILL);
  EXPECT_EQ(wait_for_orphan(sweeper), 0);
}

TEST_F(Sweeper, ADroppedSweeperIsReaped) {
  pid_t pid = -1;
  {
    Result<CgroupSweeper> sweeper = CgroupSweeper::start(plan_, name_);
    ASSERT_TRUE(sweeper.ok()) << sweeper.error().what;
    pid = sweeper->pid();
    EXPECT_EQ(::kill(pid, 0), 0);
    EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);  // an ordinary wait(2) does not see it
    CgroupSweeper moved = std::move(*sweeper);
    EXPECT_EQ(moved.pid(), pid);
    moved.dismiss();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(Sweeper, APipeOfTheSupervisorSeesItsEndThoughTheSweeperLives) {
  Pipe pipe;
  Result<CgroupSweeper> sweeper = CgroupSweeper::start(plan_, name_);
  ASSERT_TRUE(sweeper.ok()) << sweeper.error().what;
  EXPECT_EQ(pipe.drain(), "");
  EXPECT_EQ(::kill(sweeper->pid(), 0), 0);
}

TEST_F(Sweeper, SignalsOfTheSupervisorDoNotReachItAndItsMaskIsUntouched) {
  sigset_t before, after;
  ::sigprocmask(SIG_BLOCK, nullptr, &before);
  Result<CgroupSweeper> sweeper = CgroupSweeper::start(plan_, name_);
  ASSERT_TRUE(sweeper.ok()) << sweeper.error().what;
  ::sigprocmask(SIG_BLOCK, nullptr, &after);
  EXPECT_EQ(::sigismember(&before, SIGTERM), ::sigismember(&after, SIGTERM));
  ::kill(sweeper->pid(), SIGTERM);
  std::string status = read_text("/proc/" + std::to_string(sweeper->pid()) + "/status");
  size_t at = status.find("ShdPnd:\t");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(status.substr(at + 8, 16), "0000000000004000");  // pending, not taken
}

TEST_F(Sweeper, APathThatDoesNotFitIsAnError) {
  CgroupPlan plan{CgroupFacts::Version::kV1, {{"memory", "/" + std::string(600, 'x')}}, {}};
  EXPECT_FALSE(CgroupSweeper::start(plan, name_).ok());
}

}  // namespace
}  // namespace caisson

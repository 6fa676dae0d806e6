#include "session/dying_cells.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "launch/cgroup_names.h"
#include "launch/cgroup_test_host.h"

namespace caisson::session {
namespace {

using namespace test;

// A frozen process of cgroup v1 hears of SIGKILL when it thaws: so one takes as long to die as a
// test wants. Where this user can't freeze any, it is one that dies at once.
class Freezer {
 public:
  Freezer() : folder_("/sys/fs/cgroup/freezer/" + new_cgroup_name()) {
    works_ = ::mkdir(folder_.c_str(), 0755) == 0;
  }
  Freezer(const Freezer&) = delete;
  Freezer& operator=(const Freezer&) = delete;
  ~Freezer() {
    thaw();
    while (works_ && ::rmdir(folder_.c_str()) != 0 && errno == EBUSY) ::usleep(1000);
  }
  bool freeze(pid_t pid) const {
    if (!works_ || !write_text(folder_ + "/cgroup.procs", std::to_string(pid))) return false;
    if (!write_text(folder_ + "/freezer.state", "FROZEN")) return false;
    while (read_text(folder_ + "/freezer.state") != "FROZEN\n") ::usleep(1000);
    return true;
  }
  void thaw() const { write_text(folder_ + "/freezer.state", "THAWED"); }

 private:
  std::string folder_;
  bool works_;
};

long sleeps_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

class Dying : public testing::Test {
 protected:
  Dying() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Dying() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  void give(DyingCells& cells, pid_t inside) {
    Result<CgroupSweeper> sweeper = CgroupSweeper::start(plan_, name_);
    ASSERT_TRUE(sweeper.ok()) << sweeper.error().what;
    Result<CellCgroup> cgroup = CellCgroup::create(plan_, name_, sweeper->pid());
    ASSERT_TRUE(cgroup.ok()) << cgroup.error().what;
    ASSERT_TRUE(cgroup->attach(inside).ok());
    sweeper_ = sweeper->pid();
    cells.take(std::move(*cgroup), std::move(*sweeper));
  }
  bool has_folders() const {
    for (const CgroupSlot& slot : plan_.slots)
      if (is_folder(slot.directory + "/" + name_)) return true;
    return false;
  }

  CgroupPlan plan_ = v1_plan();
  std::string name_ = new_cgroup_name();
  pid_t sweeper_ = -1;
};

TEST_F(Dying, NobodyWaitsForAProcessThatTakesItsTime) {
  Loop loop{1};
  auto cells = std::make_shared<DyingCells>(loop);
  Freezer freezer;
  Process inside(pause_forever);
  bool is_frozen = freezer.freeze(inside.pid());
  long before = sleeps_so_far();
  give(*cells, inside.pid());
  for (int i = 0; i < 20; ++i) loop.poll();
  if (is_frozen && !plan_.slots.empty()) {
    EXPECT_EQ(cells->count(), 1u);
    EXPECT_TRUE(has_folders());
    EXPECT_LT(sleeps_so_far() - before, 100);  // to wait for two seconds is to sleep 200 times
  }
  freezer.thaw();
  if (plan_.slots.empty()) ::kill(inside.pid(), SIGKILL);
  EXPECT_EQ(WTERMSIG(inside.wait()), SIGKILL);
  loop.run();  // until there is nothing left to do
  EXPECT_EQ(cells->count(), 0u);
  EXPECT_FALSE(has_folders());
  EXPECT_EQ(::kill(sweeper_, 0), -1);
}

TEST_F(Dying, WhatIsLeftAtTheEndOfTheProcessIsSweptAfterIt) {
  Freezer freezer;
  Process inside(pause_forever);
  freezer.freeze(inside.pid());
  Pipe report;
  Process host([&] {
    Loop loop{1};
    give(*std::make_shared<DyingCells>(loop, std::chrono::milliseconds(5)), inside.pid());
    report.say(std::to_string(sweeper_) + "\n");
    ::_exit(0);
  });
  pid_t sweeper = std::atoi(report.line().c_str());
  ASSERT_GT(sweeper, 0);
  EXPECT_EQ(host.wait(), 0);
  freezer.thaw();
  if (plan_.slots.empty()) ::kill(inside.pid(), SIGKILL);
  EXPECT_EQ(WTERMSIG(inside.wait()), SIGKILL);
  // Gone, if it was dismissed: then there was nothing to sweep.
  while (::waitpid(sweeper, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  EXPECT_FALSE(has_folders());
}

}  // namespace
}  // namespace caisson::session

#include "launch/controller_grant.h"

#include <gtest/gtest.h>

#include "launch/cell_cgroup.h"
#include "launch/cgroup_names.h"
#include "launch/cgroup_sweeper.h"
#include "launch/cgroup_test_host.h"

namespace caisson {
namespace {

using namespace test;

// A folder of the v2 hierarchy that stands for one that was delegated to us, with one controller
// that obeys the rule of no inner processes.
class Delegated : public testing::Test {
 protected:
  Delegated() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::string top = v2_top();
    std::string offered = read_text(top + "/cgroup.controllers");
    for (const char* controller : {"memory", "hugetlb", "io", "misc", "rdma"})
      if (has_word(offered, controller)) controller_ = controller;
    if (top.empty() || controller_.empty()) return;
    top_ = top;
    was_enabled_ = has_word(read_text(top + "/cgroup.subtree_control"), controller_);
    write_text(top + "/cgroup.subtree_control", "+" + controller_);
    folder_ = top + "/caisson-test-grant-" + std::to_string(::getpid());
    ::mkdir(folder_.c_str(), 0755);
    plan_ = {CgroupFacts::Version::kV2, {{controller_, folder_}}, {}};
  }
  ~Delegated() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    if (folder_.empty()) return;
    EXPECT_EQ(::rmdir(folder_.c_str()), 0);
    if (!was_enabled_) write_text(top_ + "/cgroup.subtree_control", "-" + controller_);
  }
  static bool has_word(const std::string& text, const std::string& word) {
    for (std::string_view each : split(trim(text), ' '))
      if (each == word) return true;
    return false;
  }
  // Hosts without such a folder: the grant is refused, by the name of the file.
  bool available() {
    if (!folder_.empty()) return true;
    UniqueFd root{::open("/", O_PATH | O_CLOEXEC)};
    Result<std::string> leaf =
        grant_controllers(root.get(), "/x", std::vector<std::string>{"io"}, 0);
    EXPECT_NE((leaf.ok() ? "" : leaf.error().what).find("write +io to /x/cgroup.subtree_control"),
              std::string::npos);
    return false;
  }
  bool enabled() { return has_word(read_text(folder_ + "/cgroup.subtree_control"), controller_); }
  bool enter() { return write_text(folder_ + "/cgroup.procs", "0"); }
  std::string leaf_of(pid_t pid) { return folder_ + "/caisson-supervisor-" + std::to_string(pid); }

  std::string top_, controller_, folder_;
  bool was_enabled_ = false;
  CgroupPlan plan_;
};

TEST_F(Delegated, TheSupervisorStepsAsideAndComesBack) {
  if (!available()) return;
  Pipe report;
  Process supervisor([&] {
    auto check = [&](bool good, const char* what) {
      if (!good) report.say(std::string(what) + ";");
    };
    std::string name = new_cgroup_name(), me = std::to_string(::getpid());
    check(enter(), "enter");
    Result<CgroupSweeper> sweeper = CgroupSweeper::start(plan_, name);
    check(sweeper.ok(), "sweeper");
    Result<CellCgroup> cell = CellCgroup::create(plan_, name, sweeper->pid());
    if (!cell.ok()) return report.say(cell.error().what);
    check(enabled(), "controller enabled");
    check(has_line(read_text(leaf_of(::getpid()) + "/cgroup.procs"), me), "in the leaf");
    check(is_folder(folder_ + "/" + name), "cell beside the leaf");
    {
      Result<CellCgroup> second = CellCgroup::create(plan_, new_cgroup_name());
      check(second.ok(), "a second cell");
      check(cell->remove(), "remove the first");
      check(enabled(), "the second keeps its controllers");
    }
    check(!enabled(), "controller given back");
    check(!is_folder(leaf_of(::getpid())), "leaf gone");
    check(has_line(read_text(folder_ + "/cgroup.procs"), me), "back in the parent");
  });
  EXPECT_EQ(report.drain(), "");
  EXPECT_EQ(supervisor.wait(), 0);
}

TEST_F(Delegated, OthersInTheFolderMakeItAnErrorThatSaysSo) {
  if (!available()) return;
  Process other(pause_forever);
  Pipe report;
  ASSERT_TRUE(write_text(folder_ + "/cgroup.procs", std::to_string(other.pid())));
  Process supervisor([&] {
    if (!enter()) return report.say("enter");
    std::string name = new_cgroup_name();
    Result<CellCgroup> cell = CellCgroup::create(plan_, name);
    if (cell.ok()) return report.say("made");
    if (cell.error().errnum != EBUSY) report.say(cell.error().what);
    if (cell.error().hint.find("Delegate=yes") == std::string::npos) report.say("no hint");
    if (is_folder(leaf_of(::getpid()))) report.say("leaf left");
    if (is_folder(folder_ + "/" + name)) report.say("cell left");
  });
  EXPECT_EQ(report.drain(), "");
  EXPECT_EQ(supervisor.wait(), 0);
}

TEST_F(Delegated, ASupervisorKilledInItsLeafLeavesNothing) {
  if (!available()) return;
  Pipe report;
  Process supervisor([&] {
    std::string name = new_cgroup_name();
    if (!enter()) ::_exit(1);
    Result<CgroupSweeper> sweeper = CgroupSweeper::start(plan_, name);
    Result<CellCgroup> cell = CellCgroup::create(plan_, name, sweeper->pid());
    if (!cell.ok()) ::_exit(2);
    Process inside(pause_forever);
    if (!cell->attach(inside.pid()).ok()) ::_exit(3);
    report.say(std::to_string(sweeper->pid()) + "\n" + std::to_string(inside.pid()) + "\n");
    pause_forever();
  });
  pid_t sweeper = std::atoi(report.line().c_str()), inside = std::atoi(report.line().c_str());
  ASSERT_GT(inside, 0);
  EXPECT_TRUE(is_folder(leaf_of(supervisor.pid())));
  std::string leaf = leaf_of(supervisor.pid());
  ::kill(supervisor.pid(), SIGKILL);
  supervisor.wait();
  int status = -1;
  EXPECT_EQ(::waitpid(sweeper, &status, __WALL), sweeper);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(::waitpid(inside, &status, __WALL), inside);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_FALSE(is_folder(leaf));
  EXPECT_FALSE(enabled());
}

}  // namespace
}  // namespace caisson

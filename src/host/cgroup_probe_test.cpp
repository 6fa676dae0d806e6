#include "host/cgroup_probe.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "host/cgroup_tree.h"

namespace caisson {
namespace {

namespace fs = std::filesystem;
using Version = CgroupFacts::Version;

// A host made of ordinary files. A folder that holds ".v1" or ".v2" is a mount of that file system.
class FakeHost : public testing::Test {
 protected:
  FakeHost() {
    char name[] = "/tmp/caisson-cgroup-probe-XXXXXX";
    root_ = ::mkdtemp(name);
    view_.prefix = root_;
    view_.uid = 1000;
    view_.pid = 77;
    view_.runtime_dir = "/run/user/1000";
    view_.filesystem = [](const std::string& path) {
      if (!fs::is_directory(path)) return CgroupFs::kOther;
      for (fs::path at = path; at.has_relative_path(); at = at.parent_path()) {
        if (fs::exists(at / ".v1")) return CgroupFs::kV1;
        if (fs::exists(at / ".v2")) return CgroupFs::kV2;
      }
      return CgroupFs::kOther;
    };
    view_.writable = [](const std::string& path) {
      return fs::exists(path) && !read_only_paths_.contains(path);
    };
  }
  ~FakeHost() override {
    fs::remove_all(root_);
    read_only_paths_.clear();
  }

  void file(const std::string& path, const std::string& content = "") {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << content;
  }
  void own(const std::string& text) { file("/proc/self/cgroup", text); }
  void read_only(const std::string& path) { read_only_paths_.insert(root_ + path); }
  void v1(const std::string& controller) { file("/sys/fs/cgroup/" + controller + "/.v1"); }
  void v1_usual() {
    for (const char* controller : {"memory", "pids", "cpu"}) v1(controller);
    own("3:memory:/\n2:pids:/\n1:cpu,cpuacct:/\n0::/\n");
  }
  // A v2 folder as the kernel shows it; the real top has no cgroup.type.
  void v2_folder(const std::string& path, const std::string& controllers,
                 const std::string& enabled, const std::string& processes = "") {
    std::string folder = "/sys/fs/cgroup" + path;
    file(folder + "/cgroup.controllers", controllers + "\n");
    file(folder + "/cgroup.subtree_control", enabled + "\n");
    file(folder + "/cgroup.procs", processes);
    if (path != "") file(folder + "/cgroup.type", "domain\n");
  }
  void v2_top() {
    file("/sys/fs/cgroup/.v2");
    v2_folder("", "cpuset cpu io memory pids", "cpu memory pids", "1\n");
  }
  void hand_to_root(const std::string& path) {
    for (const char* name : {"/cgroup.procs", "/cgroup.subtree_control", ""})
      read_only("/sys/fs/cgroup" + path + name);
  }
  CgroupFacts probe() { return probe_cgroups(view_); }
  static std::vector<CgroupSlot> all_in(const std::string& directory) {
    return {{"memory", directory}, {"pids", directory}, {"cpu", directory}};
  }

  inline static std::set<std::string> read_only_paths_;
  std::string root_;
  CgroupView view_;
};

TEST_F(FakeHost, V1GivesTheOwnCgroupOfEachController) {
  v1_usual();
  own("4:memory:/user/me\n3:pids:/\n1:cpu,cpuacct:/\n0::/\n");
  file("/sys/fs/cgroup/memory/user/me/tasks");
  CgroupFacts facts = probe();
  EXPECT_EQ(facts.version, Version::kV1);
  EXPECT_EQ(facts.slots, (std::vector<CgroupSlot>{{"memory", "/sys/fs/cgroup/memory/user/me"},
                                                  {"pids", "/sys/fs/cgroup/pids"},
                                                  {"cpu", "/sys/fs/cgroup/cpu"}}));
  EXPECT_EQ(facts.why_not, "");
}

TEST_F(FakeHost, V1FallsBackToTheMountWhenTheOwnPathIsNotVisible) {
  v1_usual();
  own("3:memory:/docker/abc\n2:pids:/../outside\n1:cpu:/\n");
  file("/sys/fs/cgroup/outside/tasks");  // what "/.." would lead to
  CgroupFacts facts = probe();
  ASSERT_EQ(facts.slots.size(), 3u);
  EXPECT_EQ(facts.slots[0].directory, "/sys/fs/cgroup/memory");
  EXPECT_EQ(facts.slots[1].directory, "/sys/fs/cgroup/pids");
}

TEST_F(FakeHost, V1LeavesOutWhatThisUserCannotWrite) {
  v1_usual();
  read_only("/sys/fs/cgroup/pids");
  CgroupFacts facts = probe();
  ASSERT_EQ(facts.slots.size(), 2u);
  EXPECT_EQ(facts.slots[0].controller, "memory");
  EXPECT_EQ(facts.slots[1].controller, "cpu");
  EXPECT_EQ(facts.why_not, "/sys/fs/cgroup/pids is not writable by uid 1000");
}

TEST_F(FakeHost, V1NamesAControllerThatTheKernelLacks) {
  v1_usual();
  own("3:memory:/\n2:pids:/\n0::/\n");
  CgroupFacts facts = probe();
  EXPECT_EQ(facts.slots.size(), 2u);
  EXPECT_EQ(facts.why_not, "the kernel does not offer the cpu controller");
}

TEST_F(FakeHost, V1FindsMountsInUnusualPlacesByMountinfo) {
  own("3:memory:/box/inner\n2:pids:/\n1:cpu,cpuacct:/\n");
  file("/cg/mem ory/.v1");
  file("/cg/mem ory/inner/tasks");
  file("/cg/cpu,cpuacct/.v1");
  file("/proc/self/mountinfo",
       "22 1 0:20 / / rw - ext4 /dev/root rw\n"
       "35 31 0:32 /box /cg/mem\\040ory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
       "36 31 0:33 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  CgroupFacts facts = probe();
  EXPECT_EQ(facts.slots,
            (std::vector<CgroupSlot>{{"memory", "/cg/mem ory/inner"}, {"cpu", "/cg/cpu,cpuacct"}}));
  EXPECT_EQ(facts.why_not, "the pids cgroup hierarchy is not mounted");
}

TEST_F(FakeHost, HybridTakesTheControllersFromV1) {
  v1_usual();
  file("/sys/fs/cgroup/unified/.v2");
  file("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
  CgroupFacts facts = probe();
  EXPECT_EQ(facts.version, Version::kV1);
  EXPECT_EQ(facts.slots.size(), 3u);
}

TEST_F(FakeHost, HybridTakesTheControllersFromV2WhenItHoldsThem) {
  own("1:name=systemd:/\n0::/\n");
  file("/sys/fs/cgroup/unified/.v2");
  file("/sys/fs/cgroup/unified/cgroup.controllers", "cpu memory pids\n");
  file("/sys/fs/cgroup/unified/cgroup.procs");
  CgroupFacts facts = probe();
  EXPECT_EQ(facts.version, Version::kV2);
  EXPECT_EQ(facts.slots, all_in("/sys/fs/cgroup/unified"));
}

TEST_F(FakeHost, V2TakesADelegatedCgroupThatHoldsNobodyElse) {
  own("0::/user.slice/me.scope\n");
  v2_top();
  v2_folder("/user.slice", "cpu memory pids", "cpu memory pids");
  v2_folder("/user.slice/me.scope", "cpu memory pids", "", "77\n");
  hand_to_root("/user.slice");
  hand_to_root("");
  CgroupFacts facts = probe();
  EXPECT_EQ(facts.version, Version::kV2);
  EXPECT_EQ(facts.slots, all_in("/sys/fs/cgroup/user.slice/me.scope"));
  EXPECT_EQ(facts.why_not, "");
}

TEST_F(FakeHost, V2GoesBesideADelegatedCgroupThatHoldsOthersToo) {
  own("0::/app.slice/terminal.scope\n");
  v2_top();
  v2_folder("/app.slice", "cpu memory pids", "cpu memory pids");
  v2_folder("/app.slice/terminal.scope", "cpu memory pids", "", "50\n77\n");
  hand_to_root("");
  EXPECT_EQ(probe().slots, all_in("/sys/fs/cgroup/app.slice"));
}

TEST_F(FakeHost, V2MakesFurtherCellsBesideTheLeafOfTheSupervisor) {
  own("0::/me.scope/caisson-supervisor-77\n");
  v2_top();
  v2_folder("/me.scope", "cpu memory pids", "cpu memory pids");
  v2_folder("/me.scope/caisson-supervisor-77", "cpu memory pids", "", "77\n");
  hand_to_root("");
  EXPECT_EQ(probe().slots, all_in("/sys/fs/cgroup/me.scope"));
}

TEST_F(FakeHost, V2NotDelegatedGivesNothingAndTellsWhoCouldHelp) {
  own("0::/user.slice/session-3.scope\n");
  v2_top();
  v2_folder("/user.slice", "cpu memory pids", "cpu memory pids");
  v2_folder("/user.slice/session-3.scope", "cpu memory pids", "", "50\n77\n");
  for (const char* path : {"/user.slice/session-3.scope", "/user.slice", ""}) hand_to_root(path);
  CgroupFacts facts = probe();
  EXPECT_EQ(facts.version, Version::kV2);
  EXPECT_TRUE(facts.slots.empty());
  EXPECT_EQ(facts.why_not,
            "/sys/fs/cgroup/user.slice/session-3.scope is not delegated to uid 1000");
  EXPECT_EQ(facts.user_manager, "");

  file("/run/user/1000/bus");
  facts = probe();
  EXPECT_EQ(facts.user_manager, "/run/user/1000");
  EXPECT_EQ(facts.why_not,
            "/sys/fs/cgroup/user.slice/session-3.scope is not delegated to uid 1000; systemd's "
            "user manager can be asked for a scope of our own");
}

TEST_F(FakeHost, V2NeedsLeaveToMoveProcessesNotOnlyToMakeFolders) {
  own("0::/app.slice/terminal.scope\n");
  v2_top();
  v2_folder("/app.slice", "cpu memory pids", "cpu memory pids");
  v2_folder("/app.slice/terminal.scope", "cpu memory pids", "", "50\n77\n");
  hand_to_root("");
  read_only("/sys/fs/cgroup/app.slice/cgroup.procs");
  CgroupFacts facts = probe();
  EXPECT_TRUE(facts.slots.empty());
  EXPECT_EQ(facts.why_not, "other processes live in /sys/fs/cgroup/app.slice/terminal.scope");
}

TEST_F(FakeHost, V2RootUsesTheTopWhenItsOwnPlaceLacksAController) {
  view_.uid = 0;
  own("0::/user.slice/session-1.scope\n");
  v2_top();
  v2_folder("/user.slice", "memory pids", "memory pids");
  v2_folder("/user.slice/session-1.scope", "memory pids", "", "50\n77\n");
  EXPECT_EQ(probe().slots, all_in("/sys/fs/cgroup"));
}

TEST_F(FakeHost, V2RootInTheTopUsesTheTopThoughOthersLiveThere) {
  view_.uid = 0;
  own("0::/\n");
  v2_top();
  CgroupFacts facts = probe();
  EXPECT_EQ(facts.slots, all_in("/sys/fs/cgroup"));
  EXPECT_EQ(facts.why_not, "");
}

// The top of a container's namespace looks like "/", but is bound by the rule of all inner cgroups.
TEST_F(FakeHost, V2NamespaceTopIsOnlyTakenWhenAlone) {
  view_.uid = 0;
  own("0::/\n");
  v2_top();
  file("/sys/fs/cgroup/cgroup.type", "domain\n");
  CgroupFacts facts = probe();
  EXPECT_TRUE(facts.slots.empty());
  EXPECT_EQ(facts.why_not, "other processes live in /sys/fs/cgroup");

  file("/sys/fs/cgroup/cgroup.procs", "77\n");
  EXPECT_EQ(probe().slots, all_in("/sys/fs/cgroup"));
}

TEST_F(FakeHost, V2NamesAControllerThatIsNotHandedDown) {
  own("0::/me.scope\n");
  v2_top();
  v2_folder("/me.scope", "memory pids", "", "77\n");
  hand_to_root("");
  CgroupFacts facts = probe();
  ASSERT_EQ(facts.slots.size(), 2u);
  EXPECT_EQ(facts.why_not, "the cpu controller is not enabled in /sys/fs/cgroup/me.scope");
}

TEST_F(FakeHost, WithoutAnyMountThereIsNoVersion) {
  own("0::/\n");
  CgroupFacts facts = probe();
  EXPECT_EQ(facts.version, Version::kNone);
  EXPECT_TRUE(facts.slots.empty());
  EXPECT_EQ(facts.why_not, "no cgroup file system is mounted");
}

TEST_F(FakeHost, WithoutProcThereIsNoVersion) {
  CgroupFacts facts = probe();
  EXPECT_EQ(facts.version, Version::kNone);
  EXPECT_NE(facts.why_not, "");
}

TEST(CgroupTree, MountinfoLinesThatAreNotWholeAreLeftOut) {
  EXPECT_TRUE(parse_cgroup_mounts("1 2 3 - cgroup2\n - cgroup x y\ngarbage\n").empty());
  EXPECT_EQ(parse_cgroup_mounts("1 2 0:3 / /m rw - cgroup2 none rw").size(), 1u);
  EXPECT_EQ(parse_cgroup_mounts("1 2 0:3 / /m rw - cgroupfoo none rw").size(), 0u);
}

TEST(CgroupTree, AControllerIsAWholeWord) {
  OwnCgroups own = parse_own_cgroups("2:cpuset,cpuacct:/a\n1:cpu:/b:c\n");
  ASSERT_NE(own.path_of("cpu"), nullptr);
  EXPECT_EQ(*own.path_of("cpu"), "/b:c");
  EXPECT_EQ(own.path_of("memory"), nullptr);
  EXPECT_EQ(own.unified_path(), nullptr);
}

// On the host that runs the tests: every slot that is offered is a cgroup that can be written.
TEST(CgroupProbe, EverySlotOfThisHostIsAWritableCgroup) {
  CgroupFacts facts = probe_cgroups();
  CgroupView view;
  CgroupTree tree(view);
  CgroupFs type = facts.version == Version::kV2 ? CgroupFs::kV2 : CgroupFs::kV1;
  for (const CgroupSlot& slot : facts.slots) {
    EXPECT_EQ(tree.filesystem(slot.directory), type) << slot.directory;
    EXPECT_EQ(::access(slot.directory.c_str(), W_OK), 0) << slot.directory;
  }
  EXPECT_EQ(facts.slots.size() < 3, !facts.why_not.empty());
}

}  // namespace
}  // namespace caisson

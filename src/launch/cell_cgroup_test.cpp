#include "launch/cell_cgroup.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <filesystem>

#include "launch/cgroup_folder.h"
#include "launch/cgroup_names.h"
#include "launch/cgroup_test_host.h"

namespace caisson {
namespace {

using namespace test;
using Version = CgroupFacts::Version;

// Hosts and users without a writable v1 hierarchy: what must be refused there is.
void expect_refused(const std::string& directory) {
  CgroupPlan plan{Version::kV1, {{"memory", directory}}, {}};
  Result<CellCgroup> cell = CellCgroup::create(plan, new_cgroup_name());
  ASSERT_FALSE(cell.ok());
  EXPECT_NE(cell.error().what.find(directory), std::string::npos) << cell.error().what;
}

class V1Cell : public testing::Test {
 protected:
  bool available() {
    plan_ = v1_plan();
    bool all = plan_.slots.size() == 3;
    if (!all) expect_refused("/sys/fs/cgroup/memory");
    return all;
  }
  void touch(size_t bytes) {
    auto* memory = static_cast<volatile char*>(::mmap(
        nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
    for (size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
  }
  CgroupPlan plan_;
};

TEST_F(V1Cell, MakesAFolderPerHierarchyWithItsLimitsAndRemovesThem) {
  if (!available()) return;
  plan_.files = {{"memory", "memory.limit_in_bytes", "33554432"},
                 {"pids", "pids.max", "7"},
                 {"cpu", "cpu.cfs_quota_us", "50000"},
                 {"memory", "memory.no_such_file", "1", true}};
  std::string name = new_cgroup_name();
  std::vector<std::string> folders;
  {
    Result<CellCgroup> cell = CellCgroup::create(plan_, name);
    ASSERT_TRUE(cell.ok()) << cell.error().what;
    folders = cell->folders();
    ASSERT_EQ(folders.size(), 3u);
    EXPECT_EQ(folders[0], plan_.slots[0].directory + "/" + name);
    EXPECT_EQ(read_text(folders[0] + "/memory.limit_in_bytes"), "33554432\n");
    EXPECT_EQ(read_text(folders[1] + "/pids.max"), "7\n");
    EXPECT_EQ(read_text(folders[2] + "/cpu.cfs_quota_us"), "50000\n");
    EXPECT_EQ(cell->clone_into_fd(), -1);
  }
  for (const std::string& folder : folders) EXPECT_FALSE(is_folder(folder)) << folder;
}

TEST_F(V1Cell, AnErrorNamesTheFileAndValueAndLeavesNothing) {
  if (!available()) return;
  plan_.files = {{"pids", "pids.max", "many"}};
  std::string name = new_cgroup_name();
  Result<CellCgroup> cell = CellCgroup::create(plan_, name);
  ASSERT_FALSE(cell.ok());
  EXPECT_EQ(cell.error().what, "write many to " + plan_.slots[1].directory + "/" + name +
                                   "/pids.max: Invalid argument");
  for (const CgroupSlot& slot : plan_.slots) EXPECT_FALSE(is_folder(slot.directory + "/" + name));
}

TEST_F(V1Cell, ALimitFileThatIsMissingIsAnErrorUnlessOptional) {
  if (!available()) return;
  plan_.files = {{"memory", "memory.no_such_file", "1"}};
  EXPECT_FALSE(CellCgroup::create(plan_, new_cgroup_name()).ok());
  plan_.files = {{"memory", "memory.no_such_file", "1", true}};
  EXPECT_TRUE(CellCgroup::create(plan_, new_cgroup_name()).ok());
  plan_.files = {{"io", "io.max", "1"}};
  EXPECT_FALSE(CellCgroup::create(plan_, new_cgroup_name()).ok());
}

TEST_F(V1Cell, AttachMovesAProcessIntoEveryFolder) {
  if (!available()) return;
  Result<CellCgroup> cell = CellCgroup::create(plan_, new_cgroup_name());
  ASSERT_TRUE(cell.ok()) << cell.error().what;
  Process child(pause_forever);
  ASSERT_TRUE(cell->attach(child.pid()).ok());
  for (const std::string& folder : cell->folders())
    EXPECT_EQ(read_text(folder + "/cgroup.procs"), std::to_string(child.pid()) + "\n");
  EXPECT_FALSE(cell->attach(0x3fffffff).ok());  // no such process
}

TEST_F(V1Cell, AProcessJoinsByItselfThroughTheDescriptors) {
  if (!available()) return;
  Result<CellCgroup> cell = CellCgroup::create(plan_, new_cgroup_name());
  ASSERT_TRUE(cell.ok()) << cell.error().what;
  Result<std::vector<UniqueFd>> doors = cell->join_fds();
  ASSERT_TRUE(doors.ok());
  Pipe joined;
  Process child([&] {
    for (const UniqueFd& door : *doors)
      if (::write(door.get(), "0", 1) != 1) ::_exit(1);
    joined.say("in\n");
    pause_forever();
  });
  ASSERT_EQ(joined.line(), "in");
  for (const std::string& folder : cell->folders())
    EXPECT_EQ(read_text(folder + "/cgroup.procs"), std::to_string(child.pid()) + "\n");
}

TEST_F(V1Cell, RunningOutOfMemoryWakesTheSupervisorAndIsCounted) {
  if (!available()) return;
  constexpr uint64_t kLimit = 16 << 20;
  plan_.files = {{"memory", "memory.limit_in_bytes", std::to_string(kLimit)},
                 {"memory", "memory.memsw.limit_in_bytes", std::to_string(kLimit), true}};
  Result<CellCgroup> cell = CellCgroup::create(plan_, new_cgroup_name());
  ASSERT_TRUE(cell.ok()) << cell.error().what;
  Pipe go;
  Process child([&] {
    go.line();
    touch(4 * kLimit);
  });
  ASSERT_TRUE(cell->attach(child.pid()).ok());
  EXPECT_FALSE(cell->oom_happened());
  go.say("go\n");
  EXPECT_TRUE(wakes(cell->oom_event_fd(), cell->oom_poll_events(), 10000));
  EXPECT_TRUE(cell->oom_happened());
  int status = child.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  CgroupUsage usage = cell->usage();
  EXPECT_GE(usage.oom_kills, 1u);
  EXPECT_GT(usage.memory_peak_bytes, kLimit / 2);
  EXPECT_LE(usage.memory_peak_bytes, kLimit);
  EXPECT_TRUE(cell->remove());
  EXPECT_TRUE(cell->oom_happened());  // still known when the folders are gone
}

TEST_F(V1Cell, StayingBelowTheLimitWakesNobody) {
  if (!available()) return;
  plan_.files = {{"memory", "memory.limit_in_bytes", "67108864"}};
  Result<CellCgroup> cell = CellCgroup::create(plan_, new_cgroup_name());
  ASSERT_TRUE(cell.ok()) << cell.error().what;
  Pipe go;
  Process child([&] {
    go.line();
    touch(8 << 20);
  });
  ASSERT_TRUE(cell->attach(child.pid()).ok());
  go.say("go\n");
  EXPECT_EQ(child.wait(), 0);
  EXPECT_FALSE(wakes(cell->oom_event_fd(), cell->oom_poll_events(), 0));
  EXPECT_FALSE(cell->oom_happened());
  EXPECT_GE(cell->usage().memory_peak_bytes, 8u << 20);
  EXPECT_TRUE(cell->remove());
  EXPECT_FALSE(cell->oom_happened());  // though removal rings the kernel's bell
}

TEST_F(V1Cell, ForksThatWereRefusedAreCounted) {
  if (!available()) return;
  plan_.files = {{"pids", "pids.max", "1"}};
  Result<CellCgroup> cell = CellCgroup::create(plan_, new_cgroup_name());
  ASSERT_TRUE(cell.ok()) << cell.error().what;
  Pipe go;
  Process child([&] {
    go.line();
    ::_exit(::fork() < 0 ? 0 : 1);
  });
  ASSERT_TRUE(cell->attach(child.pid()).ok());
  go.say("go\n");
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(cell->usage().pids_refused, 1u);
}

TEST_F(V1Cell, DroppingTheCellKillsWhatIsStillInside) {
  if (!available()) return;
  std::vector<std::string> folders;
  Process child(pause_forever);
  {
    Result<CellCgroup> cell = CellCgroup::create(plan_, new_cgroup_name());
    ASSERT_TRUE(cell.ok()) << cell.error().what;
    ASSERT_TRUE(cell->attach(child.pid()).ok());
    folders = cell->folders();
  }
  for (const std::string& folder : folders) EXPECT_FALSE(is_folder(folder));
  int status = child.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST_F(V1Cell, FoldersThatWereMadeBelowGoToo) {
  if (!available()) return;
  Result<CellCgroup> cell = CellCgroup::create(only(plan_, "pids"), new_cgroup_name());
  ASSERT_TRUE(cell.ok()) << cell.error().what;
  std::string top = cell->folders()[0];
  std::filesystem::create_directories(top + "/a/b/c");
  std::filesystem::create_directories(top + "/d");
  EXPECT_TRUE(cell->remove());
  EXPECT_FALSE(is_folder(top));
}

TEST(CellCgroup, ANameIsOnePathComponent) {
  CgroupPlan plan{Version::kV1, {{"memory", "/nowhere"}}, {}};
  for (const char* name : {"", ".", "..", "a/b", "../x"}) {
    Result<CellCgroup> cell = CellCgroup::create(plan, name);
    ASSERT_FALSE(cell.ok());
    EXPECT_EQ(cell.error().what, std::string("not a name for a cgroup: ") + name);
  }
}

TEST(CellCgroup, APlanWithoutSlotsMakesNothing) {
  Result<CellCgroup> cell = CellCgroup::create({}, new_cgroup_name());
  ASSERT_TRUE(cell.ok());
  EXPECT_TRUE(cell->folders().empty());
  EXPECT_EQ(cell->oom_event_fd(), -1);
  EXPECT_FALSE(cell->oom_happened());
  EXPECT_EQ(cell->usage(), CgroupUsage{});
  EXPECT_TRUE(cell->attach(::getpid()).ok());
}

TEST(CellCgroup, UsageOfV2ComesFromItsOwnFiles) {
  char folder[] = "/tmp/caisson-usage-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  auto file = [&](const char* name, const char* text) {
    std::ofstream(std::string(folder) + "/" + name) << text;
  };
  file("memory.peak", "4096000\n");
  file("memory.events", "low 0\nhigh 1\nmax 5\noom 3\noom_kill 2\noom_group_kill 1\n");
  file("pids.events", "max 9\n");
  file("cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
  UniqueFd dir{::open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)};
  CgroupUsage usage;
  for (const char* controller : {"memory", "pids", "cpu"})
    add_cgroup_usage(dir.get(), Version::kV2, controller, usage);
  EXPECT_EQ(usage, (CgroupUsage{4096000, 1500000, 2, 9}));
  std::filesystem::remove_all(folder);
}

// cgroup.kill and rmdir of v2 for real; elsewhere the refusal.
TEST(V2Folder, KillReachesEveryProcessAndTheFolderGoes) {
  std::string top = v2_top();
  if (top.empty()) return expect_refused("/sys/fs/cgroup");
  std::string name = "caisson-test-kill-" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir((top + "/" + name).c_str(), 0755), 0);
  UniqueFd parent{::open(top.c_str(), O_PATH | O_CLOEXEC)};
  UniqueFd self{::openat(parent.get(), name.c_str(), O_PATH | O_CLOEXEC)};
  Process one(pause_forever), two(pause_forever);
  for (pid_t pid : {one.pid(), two.pid()})
    ASSERT_GT(write_cgroup_file(self.get(), "cgroup.procs", std::to_string(pid)), 0);
  EXPECT_FALSE(remove_cgroup_folder(parent.get(), name.c_str(), 0));
  kill_cgroup_members(self.get());
  EXPECT_EQ(WTERMSIG(one.wait()), SIGKILL);
  EXPECT_EQ(WTERMSIG(two.wait()), SIGKILL);
  EXPECT_TRUE(remove_cgroup_folder(parent.get(), name.c_str(), 2000));
  EXPECT_FALSE(is_folder(top + "/" + name));
  EXPECT_TRUE(remove_cgroup_folder(parent.get(), name.c_str(), 0));  // gone is gone
}

}  // namespace
}  // namespace caisson

#include "launch/cgroup_names.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "launch/cgroup_test_host.h"

namespace caisson {
namespace {

using namespace test;

TEST(CgroupNames, AFreshNameTellsItsOwner) {
  std::string name = new_cgroup_name();
  std::optional<CgroupOwner> owner = owner_of_cgroup(name);
  ASSERT_TRUE(owner.has_value()) << name;
  EXPECT_EQ(owner->pid, ::getpid());
  EXPECT_FALSE(is_gone(*owner));
  EXPECT_NE(name, new_cgroup_name());
}

TEST(CgroupNames, ALeafTellsItsOwnerToo) {
  std::optional<CgroupOwner> owner = owner_of_cgroup(supervisor_leaf_name());
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(owner->pid, ::getpid());
  EXPECT_FALSE(is_gone(*owner));
}

TEST(CgroupNames, NamesOfOthersHaveNoOwner) {
  for (const char* name :
       {"system.slice", "caisson", "caisson-", "caisson-1-2", "caisson-x-1-2", "caisson-0-1-2",
        "caisson--5-1-2", "caisson-supervisor-", "caisson-supervisor-0", "caisson-1-2-3-4"})
    EXPECT_FALSE(owner_of_cgroup(name).has_value()) << name;
}

TEST(CgroupNames, AnOwnerIsGoneWhenItsNumberWasUsedAgain) {
  EXPECT_TRUE(is_gone({::getpid(), 0}));  // named before this process began
  EXPECT_FALSE(is_gone({::getpid(), ~uint64_t{0}}));
}

TEST(CgroupNames, TheSweepTakesOnlyEmptyFoldersOfOwnersThatAreGone) {
  Process brief([] {});
  pid_t dead = brief.pid();
  ASSERT_EQ(brief.wait(), 0);
  char directory[] = "/tmp/caisson-stale-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  std::string top = directory, stale = "caisson-" + std::to_string(dead) + "-";
  for (std::string name :
       {stale + "1-a", "caisson-supervisor-" + std::to_string(dead), stale + "1-full/inner",
        new_cgroup_name(), supervisor_leaf_name(), std::string("other-1-2-3")})
    std::filesystem::create_directories(top + "/" + name);

  CgroupPlan plan{CgroupFacts::Version::kV1, {{"memory", top}, {"pids", top}}, {}};
  EXPECT_EQ(sweep_stale_cgroups(plan), 2u);
  EXPECT_FALSE(is_folder(top + "/" + stale + "1-a"));
  EXPECT_TRUE(is_folder(top + "/" + stale + "1-full"));
  EXPECT_TRUE(is_folder(top + "/" + supervisor_leaf_name()));
  EXPECT_TRUE(is_folder(top + "/other-1-2-3"));
  EXPECT_EQ(sweep_stale_cgroups(plan), 0u);
  std::filesystem::remove_all(top);
}

}  // namespace
}  // namespace caisson

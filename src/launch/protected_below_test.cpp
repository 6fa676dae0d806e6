#include "launch/protected_below.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace caisson {
namespace {

namespace fs = std::filesystem;

// A folder of the test's own, on a filesystem that counts the links of folders: a file's is /tmp's.
class ProtectedBelow : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/caisson-below-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    head_ = name;
    counts_ = fs::hard_link_count(head_) == 2;
  }
  void TearDown() override { fs::remove_all(head_); }

  void deny(const std::string& rest, bool literal = false) {
    plan_.deny_write.push_back({.text = head_ + "/" + rest,
                                .literal = literal,
                                .literal_head = literal ? 3u : 2u,
                                .origin = "test"});
  }

  std::string head_;
  bool counts_ = false;
  WardenPlan plan_;
};

TEST_F(ProtectedBelow, AFolderWithoutFoldersHasNothingToLose) {
  EXPECT_FALSE(may_hold_protected(plan_));
  deny("**/.bashrc");
  deny("own", true);
  std::ofstream(head_ + "/file") << "x";
  EXPECT_EQ(may_hold_protected(plan_), !counts_);
  fs::create_directory(head_ + "/sub");
  EXPECT_TRUE(may_hold_protected(plan_));
}

TEST_F(ProtectedBelow, ANameInTheFolderItselfIsAMountOrCounts) {
  deny("**/.bashrc");
  std::ofstream(head_ + "/.bashrc") << "x";
  EXPECT_TRUE(may_hold_protected(plan_));
  deny(".bashrc", true);
  EXPECT_EQ(may_hold_protected(plan_), !counts_);
}

TEST_F(ProtectedBelow, OtherPatternsCanMeanAnything) {
  deny("*.lock");
  EXPECT_TRUE(may_hold_protected(plan_));
  plan_.deny_write.clear();
  deny("**/*.lock");
  EXPECT_TRUE(may_hold_protected(plan_));
}

}  // namespace
}  // namespace caisson

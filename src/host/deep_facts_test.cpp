#include "host/deep_facts.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace caisson {
namespace {

namespace fs = std::filesystem;

std::string first_line(const char* path) {
  std::string text;
  std::getline(std::ifstream(path), text);
  return text;
}

class ThisHost : public testing::Test {
 protected:
  ThisHost() {
    char name[] = "/tmp/caisson-deep-facts-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~ThisHost() override { fs::remove_all(root_); }
  DeepFacts gather() { return gather_deep_facts(caller_, root_ + "/state/caisson/audit.jsonl"); }

  std::string root_;
  Caller caller_;
};

TEST_F(ThisHost, IsLookedAtWithoutLeavingAChildOrAFileBehind) {
  std::string before = first_line("/proc/thread-self/children");
  DeepFacts facts = gather();
  EXPECT_EQ(first_line("/proc/thread-self/children"), before);
  EXPECT_TRUE(fs::is_empty(root_));
  EXPECT_EQ(facts.host.uid, ::geteuid());
  EXPECT_NE(facts.user_namespace.errnum, Attempt::kNotTried);
  EXPECT_NE(facts.clone3.errnum, Attempt::kNotTried);
  EXPECT_NE(facts.filter.errnum, Attempt::kNotTried);
  EXPECT_EQ(facts.namespaces.size(), 6u);
}

// A file of /proc/sys is given whole to the first read, or not at all.
TEST_F(ThisHost, HasItsSettingsReadWhole) {
  std::string limit = first_line("/proc/sys/user/max_user_namespaces");
  DeepFacts facts = gather();
  EXPECT_EQ(facts.user_limit ? std::to_string(*facts.user_limit) : "", limit);
  EXPECT_EQ(facts.core_pattern, first_line("/proc/sys/kernel/core_pattern"));
}

TEST_F(ThisHost, HasTheNearestFolderAboveAMissingAuditFolder) {
  DeepFacts facts = gather();
  EXPECT_FALSE(facts.audit.folder_facts);
  EXPECT_EQ(facts.audit.above, root_);
  ASSERT_TRUE(facts.audit.above_facts);
  EXPECT_EQ(facts.audit.above_facts->owner, ::geteuid());

  fs::create_directories(root_ + "/state/caisson");
  ::chmod((root_ + "/state/caisson").c_str(), 0750);
  facts = gather();
  ASSERT_TRUE(facts.audit.folder_facts);
  EXPECT_EQ(facts.audit.folder_facts->mode, 0750u);
  EXPECT_FALSE(facts.audit.file_facts);
}

TEST_F(ThisHost, IsACellWhenTheEnvironmentSaysSo) {
  EXPECT_FALSE(gather().inside_cell);
  caller_.environment["CAISSON"] = "1";
  EXPECT_TRUE(gather().inside_cell);
}

}  // namespace
}  // namespace caisson

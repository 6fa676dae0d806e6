#include "setup/store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "setup/repository.h"

namespace caisson::setup {
namespace {

namespace fs = std::filesystem;

class SetupStore : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/caisson-store-XXXXXX";
    top_ = fs::canonical(::mkdtemp(name));
  }
  void TearDown() override { fs::remove_all(top_); }

  Edit edit(std::optional<std::string> before, std::optional<std::string> after) {
    Edit edit{.before = std::move(before), .after = std::move(after)};
    edit.target.path = top_ + "/a/b/file";
    return edit;
  }
  std::string text() {
    Result<std::optional<std::string>> read = read_config(top_ + "/a/b/file");
    return read && *read ? **read : "(none)";
  }
  size_t files_in(const std::string& folder) {
    auto all = fs::directory_iterator(folder);
    return static_cast<size_t>(std::distance(fs::begin(all), fs::end(all)));
  }

  std::string top_;
};

TEST_F(SetupStore, FoldersThatAreMissingAreMadeAndNamed) {
  Edit made = edit({}, "one");
  auto folders = apply_edit(made, made.target.path);
  ASSERT_TRUE(folders.ok()) << folders.error().what;
  EXPECT_EQ(*folders, (std::vector<std::string>{top_ + "/a", top_ + "/a/b"}));
  EXPECT_EQ(text(), "one");
}

TEST_F(SetupStore, AFileThatChangedMeanwhileIsLeftAloneAndNothingLiesBesideIt) {
  ASSERT_TRUE(apply_edit(edit({}, "theirs"), top_ + "/a/b/file").ok());
  for (const Edit& stale : {edit("ours", "new"), edit({}, "new"), edit("ours", {})}) {
    auto done = apply_edit(stale, stale.target.path);
    ASSERT_FALSE(done.ok());
    EXPECT_NE(done.error().what.find("changed while"), std::string::npos);
    EXPECT_EQ(text(), "theirs");
    EXPECT_EQ(files_in(top_ + "/a/b"), 1u);
  }
  EXPECT_TRUE(apply_edit(edit("theirs", "new"), top_ + "/a/b/file").ok());
  EXPECT_EQ(text(), "new");
}

TEST_F(SetupStore, TheModeOfAFileIsKept) {
  ASSERT_TRUE(apply_edit(edit({}, "one"), top_ + "/a/b/file").ok());
  ::chmod((top_ + "/a/b/file").c_str(), 0640);
  ASSERT_TRUE(apply_edit(edit("one", "two"), top_ + "/a/b/file").ok());
  struct stat status {};
  ASSERT_EQ(::stat((top_ + "/a/b/file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST_F(SetupStore, LinksAreFollowedOnlyWithinTheirFolder) {
  fs::create_directories(top_ + "/project/real");
  fs::create_directories(top_ + "/home");
  fs::create_symlink("real", top_ + "/project/inner");
  fs::create_symlink("../home", top_ + "/project/outer");
  Target target{.path = top_ + "/project/inner/x/y", .within = top_ + "/project"};
  EXPECT_EQ(*resolve(target), top_ + "/project/real/x/y");
  target.path = top_ + "/project/outer/x/y";
  EXPECT_FALSE(resolve(target).ok());
  target.within.clear();
  EXPECT_EQ(*resolve(target), top_ + "/home/x/y");
}

TEST_F(SetupStore, ReceiptsAreFoundByFileAndPlaceAndForgotten) {
  Receipts receipts(top_ + "/state");
  Receipt receipt{.path = top_ + "/f", .container = {"a"}, .existed = true, .exact = true};
  receipt.original = "before";
  ASSERT_TRUE(receipts.keep(receipt).ok());
  Target target{.path = top_ + "/f", .container = {"a"}};
  auto found = receipts.find(target);
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->original, "before");
  target.container = {"b"};
  EXPECT_FALSE(receipts.find(target)->has_value());
  receipts.drop(receipt);
  EXPECT_FALSE(fs::exists(top_ + "/state/caisson/install"));
}

TEST_F(SetupStore, ARepositoryIsFoundAbove) {
  fs::create_directories(top_ + "/r/.git");
  fs::create_directories(top_ + "/r/a/b");
  EXPECT_EQ(find_repository(top_ + "/r/a/b").top, top_ + "/r");
  EXPECT_EQ(find_repository(top_ + "/r").main, top_ + "/r");
  EXPECT_EQ(find_repository("/").top, "/");
}

}  // namespace
}  // namespace caisson::setup

#include "session/branch_copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/unique_fd.h"

namespace caisson::session {
namespace {

namespace fs = std::filesystem;

class BranchCopy : public testing::Test {
 protected:
  BranchCopy() {
    top_ = ::mkdtemp(name_);
    fs::create_directories(from());
    fs::create_directories(to());
  }
  ~BranchCopy() override { fs::remove_all(top_); }
  std::string from() const { return top_ + "/from"; }
  std::string to() const { return top_ + "/to"; }

  Result<void> copy(CopyBounds bounds = {}) {
    UniqueFd one(::open(from().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    UniqueFd two(::open(to().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    Loop loop(1);
    std::optional<Result<void>> outcome;
    spawn(loop, run(loop, one.get(), two.get(), bounds, outcome));
    loop.run();
    return outcome.value();
  }
  static Task<> run(Loop& loop, int from, int to, CopyBounds bounds,
                    std::optional<Result<void>>& outcome) {
    Result<void> done = co_await copy_branch(loop, from, to, bounds);
    outcome.emplace(std::move(done));
  }
  static void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static struct stat look(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info;
  }

  char name_[40] = "/tmp/caisson-copy-XXXXXX";
  std::string top_;
};

TEST_F(BranchCopy, HasTheFilesAndNoneOfTheInodes) {
  fs::create_directories(from() + "/sub/deep");
  put(from() + "/sub/deep/f", std::string(3 << 20, 'x'));
  put(from() + "/one", "1");
  fs::create_hard_link(from() + "/one", from() + "/two");
  ::chmod((from() + "/one").c_str(), 0751);
  ASSERT_TRUE(copy().ok());
  EXPECT_EQ(read(to() + "/sub/deep/f").size(), 3u << 20);
  EXPECT_EQ(read(to() + "/two"), "1");
  EXPECT_EQ(look(to() + "/one").st_mode & 07777, 0751u);
  EXPECT_EQ(look(to() + "/one").st_mtim.tv_nsec, look(from() + "/one").st_mtim.tv_nsec);
  for (const char* name : {"/one", "/two", "/sub", "/sub/deep", "/sub/deep/f"})
    EXPECT_NE(look(to() + name).st_ino, look(from() + name).st_ino) << name;
  EXPECT_NE(look(to() + "/one").st_ino, look(to() + "/two").st_ino);
}

TEST_F(BranchCopy, FollowsNoLinkAndWaitsForNoPipe) {
  put(top_ + "/secret", "secret");
  fs::create_symlink(top_ + "/secret", from() + "/link");
  fs::create_directory_symlink(top_, from() + "/folder");
  ASSERT_EQ(::mkfifo((from() + "/pipe").c_str(), 0600), 0);
  ASSERT_TRUE(copy().ok());
  EXPECT_TRUE(fs::is_symlink(to() + "/link"));
  EXPECT_TRUE(fs::is_symlink(to() + "/folder"));
  EXPECT_FALSE(fs::exists(to() + "/pipe"));
}

TEST_F(BranchCopy, HolesStayHoles) {
  put(from() + "/f", "begin");
  ASSERT_EQ(::truncate((from() + "/f").c_str(), off_t{1} << 30), 0);
  ASSERT_TRUE(copy({.bytes = 1 << 20}).ok());
  EXPECT_EQ(look(to() + "/f").st_size, off_t{1} << 30);
  EXPECT_LT(look(to() + "/f").st_blocks * 512, 1 << 20);
}

TEST_F(BranchCopy, WhatIsLockedIsCopiedWithItsLock) {
  fs::create_directories(from() + "/sub");
  put(from() + "/sub/f", "x");
  ::chmod((from() + "/sub/f").c_str(), 0);
  ::chmod((from() + "/sub").c_str(), 0500);
  ASSERT_TRUE(copy().ok());
  EXPECT_EQ(look(to() + "/sub").st_mode & 0777, 0500u);
  EXPECT_EQ(look(to() + "/sub/f").st_mode & 0777, 0u);
  for (const std::string& side : {from(), to()}) ::chmod((side + "/sub").c_str(), 0700);
}

TEST_F(BranchCopy, EndsAtItsBoundsAndSaysSo) {
  for (int i = 0; i < 20; ++i) put(from() + "/f" + std::to_string(i), "12345");
  EXPECT_FALSE(copy({.entries = 10}).ok());
  fs::remove_all(to());
  fs::create_directories(to());
  EXPECT_FALSE(copy({.bytes = 50}).ok());
  fs::remove_all(to());
  fs::create_directories(to());
  fs::create_directories(from() + "/a/b/c/d");
  EXPECT_FALSE(copy({.depth = 3}).ok());
  EXPECT_TRUE(fs::exists(to() + "/a/b"));
  EXPECT_FALSE(fs::exists(to() + "/a/b/c"));
}

}  // namespace
}  // namespace caisson::session

#include "session/remover.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include "base/folder_fixture.h"

namespace caisson::session {
namespace {

namespace fs = std::filesystem;

class Trashed : public FolderFixture {
 protected:
  Trashed() {
    fs::create_directories(top_ + "/trash");
    trash_.reset(::open((top_ + "/trash").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  std::string in(const std::string& name) const { return top_ + "/trash/" + name; }
  void make_file(const std::string& path) const {
    UniqueFd fd{::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)};
    ASSERT_TRUE(fd);
  }
  bool is_empty() const { return fs::is_empty(top_ + "/trash"); }

  UniqueFd trash_;
};

TEST_F(Trashed, ATreeIsRemovedAndItsLinksAreNotFollowed) {
  make_file(top_ + "/kept");
  fs::create_directories(in("x/a/b"));
  make_file(in("x/a/b/f"));
  fs::create_symlink(top_, in("x/a/out"));
  fs::create_symlink(top_ + "/kept", in("x/file"));
  Remover remover(trash_.get(), {});
  EXPECT_TRUE(remover.remove("x"));
  EXPECT_TRUE(is_empty());
  EXPECT_TRUE(fs::exists(top_ + "/kept"));
}

TEST_F(Trashed, TheEffortIsBounded) {
  fs::create_directories(in("x"));
  for (int i = 0; i < 50; ++i) make_file(in(fmt::format("x/{}", i)));
  Remover remover(trash_.get(), {.entries = 10});
  EXPECT_FALSE(remover.remove("x"));
  EXPECT_LE(remover.removed(), 10u);
  EXPECT_TRUE(fs::exists(in("x")));
  EXPECT_TRUE(empty_trash(trash_.get()));
  EXPECT_TRUE(is_empty());
}

TEST_F(Trashed, LargeFilesAreLeftToTheProcess) {
  fs::create_directories(in("x"));
  UniqueFd fd{::open(in("x/large").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)};
  ASSERT_EQ(::posix_fallocate(fd.get(), 0, 1 << 20), 0);
  Remover remover(trash_.get(), {.bytes = 1 << 19});
  EXPECT_FALSE(remover.remove("x"));
  EXPECT_TRUE(fs::exists(in("x/large")));
}

// A folder that had a million names is as long as ever when they are gone, and it takes a second to
// find out that it is empty: what counts is its size, and not what is in it.
TEST_F(Trashed, LargeFoldersAreLeftToTheProcess) {
  fs::create_directories(in("x"));
  make_file(in("x/" + std::string(200, 'n')));
  struct stat info;
  ASSERT_EQ(::stat(in("x").c_str(), &info), 0);
  ASSERT_GT(info.st_size, 0);
  Remover remover(trash_.get(), {.bytes = static_cast<uint64_t>(info.st_size) - 1});
  EXPECT_FALSE(remover.remove("x"));
  EXPECT_EQ(remover.removed(), 0u);  // it was not even opened
  EXPECT_TRUE(empty_trash(trash_.get()));
  EXPECT_TRUE(is_empty());
}

TEST_F(Trashed, WhatIsLockedIsUnlocked) {
  fs::create_directories(in("x/a"));
  make_file(in("x/a/f"));
  for (const char* path : {"x/a", "x"}) ASSERT_EQ(::chmod(in(path).c_str(), 0), 0);
  EXPECT_TRUE(empty_trash(trash_.get()));
  EXPECT_TRUE(is_empty());
}

TEST_F(Trashed, ATreeDeeperThanAnyPathIsRemoved) {
  UniqueFd at{::openat(trash_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "deep", 0700), 0);
    at = UniqueFd{::openat(at.get(), "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    ASSERT_TRUE(at);
  }
  EXPECT_TRUE(empty_trash(trash_.get()));
  EXPECT_TRUE(is_empty());
}

TEST_F(Trashed, OneProcessIsAtWork) {
  fs::create_directories(in("x"));
  UniqueFd other{::open((top_ + "/trash").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  ASSERT_EQ(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_TRUE(empty_trash(trash_.get()));
  EXPECT_FALSE(is_empty());
}

}  // namespace
}  // namespace caisson::session

#include "web/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/large_folder.h"

namespace caisson::web {
namespace {

class WebFiles : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(top_), nullptr);
    folder_ = std::string(top_) + "/workspace";
    outside_ = std::string(top_) + "/outside";
    ASSERT_EQ(::mkdir(folder_.c_str(), 0700), 0);
    ASSERT_EQ(::mkdir(outside_.c_str(), 0700), 0);
    Result<Workspace> outside = Workspace::open(outside_);
    ASSERT_TRUE(outside->write({"secret"}, "secret").ok());
    workspace_.emplace(Workspace::open(folder_).value());
  }
  void TearDown() override { std::filesystem::remove_all(top_); }
  void link(const std::string& to, const std::string& name) {
    ASSERT_EQ(::symlink(to.c_str(), (folder_ + "/" + name).c_str()), 0);
  }

  char top_[32] = "/tmp/caisson-files-XXXXXX";
  std::string folder_, outside_;
  std::optional<Workspace> workspace_;
};

TEST_F(WebFiles, WritesReadsListsAndRemoves) {
  ASSERT_TRUE(workspace_->write({"a", "b", "c"}, "text").ok());
  EXPECT_EQ(*workspace_->read({"a", "b", "c"}), "text");
  EXPECT_TRUE(*workspace_->is_folder({"a"}));
  EXPECT_EQ(workspace_->list({"a", "b"})->size(), 1u);
  ASSERT_TRUE(workspace_->write({"a", "b", "c"}, "shorter").ok());
  EXPECT_EQ(*workspace_->read({"a", "b", "c"}), "shorter");
  EXPECT_EQ(workspace_->list({"a", "b"})->size(), 1u);  // no draft is left
  EXPECT_TRUE(workspace_->remove({"a", "b", "c"}).ok());
  EXPECT_TRUE(workspace_->remove({"a", "b"}).ok());
  EXPECT_EQ(workspace_->read({"a", "b", "c"}).error().errnum, ENOENT);
}

TEST_F(WebFiles, FollowsNoLink) {
  link(outside_ + "/secret", "file");
  link(outside_, "folder");
  link("../outside", "relative");
  link("/proc/self/root", "magic");
  for (const Workspace::Parts& parts : {Workspace::Parts{"file"},
                                        {"folder", "secret"},
                                        {"relative", "secret"},
                                        {"magic", "etc", "passwd"}}) {
    EXPECT_FALSE(workspace_->read(parts).ok()) << parts[0];
  }
  EXPECT_FALSE(workspace_->write({"folder", "planted"}, "x").ok());
  EXPECT_FALSE(workspace_->remove({"folder", "secret"}).ok());
  EXPECT_FALSE(workspace_->list({"folder"}).ok());
  EXPECT_EQ(::access((outside_ + "/secret").c_str(), F_OK), 0);
  EXPECT_NE(::access((outside_ + "/planted").c_str(), F_OK), 0);
}

TEST_F(WebFiles, AWriteReplacesALinkAndNotItsTarget) {
  link(outside_ + "/secret", "file");
  ASSERT_TRUE(workspace_->write({"file"}, "mine").ok());
  EXPECT_EQ(*Workspace::open(outside_)->read({"secret"}), "secret");
  EXPECT_EQ(*workspace_->read({"file"}), "mine");
}

TEST_F(WebFiles, RefusesNamesThatLeadElsewhere) {
  for (const Workspace::Parts& parts : {Workspace::Parts{".."},
                                        {"..", "outside", "secret"},
                                        {"a/../../outside"},
                                        {"."},
                                        {""},
                                        {std::string("a\0b", 3)},
                                        {std::string(300, 'x')}}) {
    EXPECT_FALSE(workspace_->read(parts).ok());
    EXPECT_FALSE(workspace_->write(parts, "x").ok());
    EXPECT_FALSE(workspace_->remove(parts).ok());
  }
  EXPECT_FALSE(workspace_->write({}, "x").ok());
}

TEST_F(WebFiles, ReadsPlainFilesOnly) {
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(workspace_->read({"pipe"}).ok());  // and doesn't wait for a writer
  EXPECT_FALSE(workspace_->read({}).ok());
}

// A lease makes open(2) wait or fail until its holder lets go: in a cell that is never.
TEST_F(WebFiles, AFileWithALeaseIsInUseAndNotWaitedFor) {
  ASSERT_TRUE(workspace_->write({"leased"}, "x").ok());
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before {};
  ::sigaction(SIGIO, &ignore, &before);  // how the holder of a lease is asked to let go
  UniqueFd holder(::open((folder_ + "/leased").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::fcntl(holder.get(), F_SETLEASE, F_WRLCK), 0);
  EXPECT_EQ(workspace_->read({"leased"}).error().errnum, EAGAIN);
  ASSERT_EQ(::fcntl(holder.get(), F_SETLEASE, F_UNLCK), 0);
  EXPECT_EQ(*workspace_->read({"leased"}), "x");
  ::sigaction(SIGIO, &before, nullptr);
}

TEST_F(WebFiles, BoundsWhatItReads) {
  ASSERT_TRUE(workspace_->write({"huge"}, "").ok());
  ASSERT_EQ(::truncate((folder_ + "/huge").c_str(), 1LL << 40), 0);
  EXPECT_EQ(workspace_->read({"huge"}).error().errnum, EFBIG);
}

// What a cell has filled and emptied is as large as before, and takes as long to be read.
TEST_F(WebFiles, DoesNotListAFolderThatIsTooLarge) {
  ASSERT_TRUE(workspace_->write({"large", "first"}, "").ok());
  std::string folder = folder_ + "/large/";
  struct stat info {};
  for (int i = 0; i < 40'000 && info.st_size <= kLargestFolder; ++i) {
    std::string name = folder + std::string(240, 'x') + std::to_string(i);
    ASSERT_EQ(::symlink("x", name.c_str()), 0);
    ASSERT_EQ(::stat(folder.c_str(), &info), 0);
  }
  if (info.st_size <= kLargestFolder) GTEST_SKIP() << "folders stay small on this file system";
  EXPECT_EQ(workspace_->list({"large"}).error().errnum, E2BIG);
  EXPECT_TRUE(workspace_->read({"large", "first"}).ok());
}

TEST_F(WebFiles, WorkForAServerGoesTheSameWay) {
  using session::FileDeed;
  std::string path = path_of({"a", "b"});
  ASSERT_TRUE(work_on_file({FileDeed::kWrite, folder_, path, "text"}).ok());
  EXPECT_EQ(work_on_file({FileDeed::kLook, folder_, path, {}})->bytes, "text");
  Result<session::FileAnswer> listed = work_on_file({FileDeed::kLook, folder_, "", {}});
  ASSERT_TRUE(listed.ok());
  EXPECT_TRUE(listed->is_listing);
  EXPECT_NE(listed->bytes.find("\"name\":\"a\""), std::string::npos);
  for (const char* bad : {"a/b", "/../secret", "/a/../../secret", "//a", "/"})
    EXPECT_FALSE(work_on_file({FileDeed::kLook, folder_, bad, {}}).ok()) << bad;
  EXPECT_TRUE(work_on_file({FileDeed::kRemove, folder_, path, {}}).ok());
  EXPECT_FALSE(work_on_file({FileDeed::kLook, folder_, path, {}}).ok());
  EXPECT_FALSE(work_on_file({static_cast<FileDeed>(9), folder_, "", {}}).ok());
}

}  // namespace
}  // namespace caisson::web

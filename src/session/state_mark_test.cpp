#include "session/state_mark.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/folder_fixture.h"

namespace caisson::session {
namespace {

class Marked : public FolderFixture {
 protected:
  bool is_there() const { return ::access(path_.c_str(), F_OK) == 0; }
  // What was left for the loop is done.
  void settle() {
    loop_.restart();
    loop_.run();
  }
  Loop loop_{1};
  std::string path_ = mark_path(top_ + "/main.snapshot");
  std::shared_ptr<StateMark> mark_ = std::make_shared<StateMark>(loop_, path_);
};

TEST_F(Marked, LiesBesideItsSnapshot) { EXPECT_EQ(path_, top_ + "/main.unsaved"); }

TEST_F(Marked, IsThereFromTheFirstCallUntilASnapshotHoldsAll) {
  mark_->begin();
  EXPECT_FALSE(is_there());  // the call comes first
  settle();
  EXPECT_TRUE(is_there());
  mark_->finish();
  mark_->saved(mark_->seen());
  EXPECT_FALSE(is_there());
  mark_->begin();
  settle();
  EXPECT_TRUE(is_there());
}

TEST_F(Marked, StaysWhenACallCameBeforeOrWhileTheSnapshotWasWritten) {
  mark_->begin();
  settle();
  EXPECT_FALSE(mark_->seen());
  mark_->saved(mark_->seen());  // it waits behind the snapshot
  EXPECT_TRUE(is_there());
  mark_->finish();
  std::optional<uint64_t> seen = mark_->seen();
  mark_->begin();
  mark_->finish();
  mark_->saved(seen);
  EXPECT_TRUE(is_there());
  mark_->saved(mark_->seen());
  EXPECT_FALSE(is_there());
}

TEST_F(Marked, IsNotMadeOnceItIsOverOrWhereNobodyComesBack) {
  mark_->begin();
  mark_->finish();
  mark_->saved(mark_->seen());
  settle();
  EXPECT_FALSE(is_there());
  auto nobody = std::make_shared<StateMark>(loop_, "");
  nobody->begin();
  settle();
  nobody->clear();
  mark_->begin();
  mark_.reset();  // with its session
  settle();
  EXPECT_FALSE(is_there());
}

TEST_F(Marked, IsToldOnceWithItsTimeAndWhy) {
  EXPECT_EQ(take_mark(path_), "");
  mark_->begin();
  settle();
  struct timespec then[2] = {{0, UTIME_OMIT}, {1'700'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), then, 0), 0);
  mark_->explain(std::string(1000, 'x'));
  mark_->explain("too large\x1b[2J");
  EXPECT_EQ(take_mark(path_).find("state since 2023-11-14 22:13:20 UTC was not saved: too large"),
            0u);
  EXPECT_FALSE(is_there());
  std::ofstream(path_) << "\x1b[2J" << std::string(1000, 'y');
  std::string told = take_mark(path_);
  EXPECT_EQ(told.find('\x1b'), std::string::npos);
  EXPECT_LT(told.size(), 400u);
  EXPECT_EQ(take_mark(path_), "");
}

TEST_F(Marked, FollowsNoLink) {
  std::ofstream(top_ + "/other") << "kept";
  ASSERT_EQ(::symlink((top_ + "/other").c_str(), path_.c_str()), 0);
  mark_->begin();
  settle();
  mark_->explain("why");
  EXPECT_EQ(take_mark(path_), "");
  std::string text;
  std::ifstream(top_ + "/other") >> text;
  EXPECT_EQ(text, "kept");
}

}  // namespace
}  // namespace caisson::session

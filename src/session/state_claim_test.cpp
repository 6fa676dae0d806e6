#include "session/state_claim.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/folder_fixture.h"
#include "session/state_folders.h"

namespace caisson::session {
namespace {

namespace fs = std::filesystem;

constexpr time_t kClaimNow = 1'800'000'000, kOld = kClaimNow - kStateSeconds - 1;

class Claims : public FolderFixture {
 protected:
  Claims() {
    EXPECT_EQ(::mkdir((top_ + "/trash").c_str(), 0700), 0);
    trash_ = std::make_shared<Trash>(
        loop_, "/bin/true", UniqueFd(::open((top_ + "/trash").c_str(), O_PATH | O_CLOEXEC)));
    parent_ = top_ + "/states";
    fs::create_directory(parent_);
  }

  std::optional<StateClaim> claim(const char* name, Sharing sharing, std::string_view note = {}) {
    Result<std::optional<StateClaim>> made = claim_state(parent_, name, sharing, note);
    EXPECT_TRUE(made.ok());
    return made ? std::move(*made) : std::nullopt;
  }
  // A state as a server leaves it, last used at that time.
  void leave(const char* name, time_t when) {
    std::optional<StateClaim> state = claim(name, Sharing::kTogether);
    ASSERT_TRUE(state && StateFolders::open(state->folder, top_).ok());
    std::ofstream(state->folder + "/own/main.snapshot") << "a snapshot";
    fs::create_directories(state->folder + "/rooms/main/layers");
    fs::create_directories(state->folder + "/workspaces/main");
    set_age(name, when);
  }
  void set_age(const std::string& name, time_t when) {
    timespec times[2] = {{when, 0}, {when, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (parent_ + "/" + name + ".lock").c_str(), times, 0), 0);
  }
  bool there(const std::string& name) { return fs::exists(parent_ + "/" + name); }

  std::string parent_;
  Loop loop_{1};
  std::shared_ptr<Trash> trash_;
};

TEST_F(Claims, OfOneAreRefusedToAllOthersWhileItLives) {
  std::optional<StateClaim> first = claim("a", Sharing::kAlone, "7 /run/x.sock\n");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->folder, parent_ + "/a");
  struct stat info;
  ASSERT_EQ(::stat(first->folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_FALSE(claim("a", Sharing::kAlone, "8 /run/y.sock\n"));
  EXPECT_FALSE(claim("a", Sharing::kTogether));
  EXPECT_EQ(note_on_claim(parent_, "a"), "7 /run/x.sock\n");
  EXPECT_TRUE(claim("b", Sharing::kAlone));
  first.reset();
  EXPECT_TRUE(claim("a", Sharing::kAlone, "9 z\n"));
  EXPECT_EQ(note_on_claim(parent_, "a"), "9 z\n");
}

TEST_F(Claims, CanBeHadTogether) {
  std::optional<StateClaim> one = claim("a", Sharing::kTogether),
                            two = claim("a", Sharing::kTogether);
  EXPECT_TRUE(one && two);
  EXPECT_FALSE(claim("a", Sharing::kAlone));
}

TEST_F(Claims, AreOfFoldersAndNotOfWhatALinkLeadsTo) {
  fs::create_directory(top_ + "/elsewhere");
  fs::create_directory_symlink(top_ + "/elsewhere", parent_ + "/a");
  EXPECT_FALSE(claim_state(parent_, "a", Sharing::kAlone).ok());
  fs::create_symlink(top_ + "/elsewhere/lock", parent_ + "/b.lock");
  EXPECT_FALSE(claim_state(parent_, "b", Sharing::kAlone).ok());
  EXPECT_TRUE(fs::is_empty(top_ + "/elsewhere"));
  for (const char* name : {"", "..", "a/b", "."})
    EXPECT_FALSE(claim_state(parent_, name, Sharing::kAlone).ok()) << name;
}

TEST_F(Claims, OfPassingStatesGoWithTheirProcess) {
  Result<StateClaim> living = claim_passing_state(parent_), ended = claim_passing_state(parent_);
  Result<StateClaim> killed = claim_passing_state(parent_);
  ASSERT_TRUE(living.ok() && ended.ok() && killed.ok());
  std::ofstream(killed->folder + "/f") << "x";
  drop_passing_state(ended->folder, *trash_);
  EXPECT_FALSE(fs::exists(ended->folder) || fs::exists(ended->folder + ".lock"));
  killed->lock.reset();
  sweep_passing_states(parent_, *trash_);
  EXPECT_FALSE(fs::exists(killed->folder) || fs::exists(killed->folder + ".lock"));
  EXPECT_TRUE(fs::exists(living->folder) && fs::exists(living->folder + ".lock"));
  EXPECT_TRUE(fs::is_empty(top_ + "/trash"));
}

TEST_F(Claims, OfLongAgoLeaveTheFilesOfSessionsAndNothingElse) {
  for (const char* name : {"empty", "files", "held"}) leave(name, kOld);
  leave("young", kClaimNow - kStateSeconds);
  std::ofstream(parent_ + "/files/workspaces/main/f") << "a file";
  std::optional<StateClaim> held = claim("held", Sharing::kTogether);
  set_age("held", kOld);  // a server may live longer than its state does
  sweep_old_states(parent_, kClaimNow, *trash_);
  EXPECT_FALSE(there("empty") || there("empty.lock"));
  EXPECT_FALSE(there("files/own") || there("files/rooms"));
  EXPECT_TRUE(there("files/workspaces/main/f") && there("files.lock"));
  for (const char* name : {"held", "young"})
    EXPECT_TRUE(there(std::string(name) + "/own/main.snapshot")) << name;
  // It is as good as new for who comes back.
  std::optional<StateClaim> again = claim("files", Sharing::kTogether);
  ASSERT_TRUE(again);
  EXPECT_TRUE(StateFolders::open(again->folder, top_).ok());
}

TEST_F(Claims, OfLongAgoThatCantBeClearedAreNotLookedAtEachTime) {
  leave("files", kOld);
  std::ofstream(parent_ + "/files/workspaces/main/f") << "a file";
  sweep_old_states(parent_, kClaimNow, *trash_);
  struct stat info;
  ASSERT_EQ(::stat((parent_ + "/files.lock").c_str(), &info), 0);
  EXPECT_NE(info.st_mtime, kOld);
}

}  // namespace
}  // namespace caisson::session

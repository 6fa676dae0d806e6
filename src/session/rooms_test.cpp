#include "session/rooms.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace caisson::session {
namespace {

namespace fs = std::filesystem;

class Rooms : public testing::Test {
 protected:
  Rooms() {
    top_ = ::mkdtemp(name_);
    fs::create_directory(top_ + "/forks");
    fs::permissions(top_ + "/forks", fs::perms::owner_all);
    trash_ = std::make_shared<Trash>(loop_, "/bin/true", top_);
  }
  ~Rooms() override { fs::remove_all(top_); }

  std::string room(const std::string& prefix, const char* text) {
    std::string path = top_ + "/forks/" + prefix + "0123456789abcdef";
    EXPECT_TRUE(make_room(path).ok());
    put(path + "/files/f", text);
    return path;
  }
  static void put(const std::string& path, const char* text) { std::ofstream(path) << text; }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string kept(const char* name) const { return top_ + "/workspaces/" + name; }

  char name_[32] = "/tmp/caisson-rooms-XXXXXX";
  std::string top_;
  Loop loop_{1};
  std::shared_ptr<Trash> trash_;
};

TEST_F(Rooms, OfAProcessThatIsGoneKeepWhatIsNotedAndNothingElse) {
  std::string path = room("00000000000000aa", "mine");
  fs::create_directory(path + "/layers/twig");
  put(path + "/layers/twig/f", "of the branch");
  fs::create_directory(path + "/layers/planted");
  ASSERT_TRUE(note_session(path, "main", "files").ok());
  ASSERT_TRUE(note_session(path, "twig", "layers/twig").ok());
  EXPECT_EQ(sweep_rooms(top_, *trash_), 1u);
  EXPECT_EQ(read(kept("main") + "/f"), "mine");
  EXPECT_EQ(read(kept("twig") + "/f"), "of the branch");
  EXPECT_FALSE(fs::exists(kept("planted")));
  EXPECT_TRUE(fs::is_empty(top_ + "/forks"));
}

TEST_F(Rooms, OfAProcessThatLivesAreLeftAlone) {
  std::optional<ForksClaim> claim(ForksClaim::make(top_ + "/forks").value());
  std::string path = room(claim->prefix(), "mine");
  EXPECT_EQ(sweep_rooms(top_, *trash_), 0u);
  EXPECT_EQ(read(path + "/files/f"), "mine");
  claim.reset();
  EXPECT_EQ(sweep_rooms(top_, *trash_), 1u);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Rooms, ALinkInThePlaceOfFilesIsNotKept) {
  std::string path = room("00000000000000aa", "mine");
  put(top_ + "/secret", "secret");
  fs::create_symlink(top_, path + "/layers/twig");
  EXPECT_FALSE(keep_workspace(top_, "twig", path, "layers/twig", *trash_).ok());
  EXPECT_FALSE(fs::exists(fs::symlink_status(kept("twig"))));
  EXPECT_EQ(read(top_ + "/secret"), "secret");
}

TEST_F(Rooms, WhatWasKeptMovesIntoTheNextOnesFolder) {
  std::string path = room("00000000000000aa", "mine"), next = top_ + "/next";
  ASSERT_TRUE(keep_workspace(top_, "main", path, "files", *trash_).ok());
  fs::create_directory(next);
  Result<bool> moved = take_up_workspace(top_, "main", next);
  ASSERT_TRUE(moved.ok());
  EXPECT_TRUE(*moved);
  EXPECT_EQ(read(next + "/f"), "mine");
  EXPECT_FALSE(fs::exists(kept("main")));
  moved = take_up_workspace(top_, "main", next);
  EXPECT_TRUE(moved.ok() && !*moved);
}

}  // namespace
}  // namespace caisson::session

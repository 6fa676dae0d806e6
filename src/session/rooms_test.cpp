#include "session/rooms.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/folder_fixture.h"

namespace caisson::session {
namespace {

namespace fs = std::filesystem;

class Rooms : public FolderFixture {
 protected:
  Rooms() {
    folders_.emplace(StateFolders::open(top_).value());
    trash_ = std::make_shared<Trash>(loop_, "/bin/true", UniqueFd(::dup(folders_->trash())));
  }

  std::string room(const std::string& prefix, const char* text) {
    std::string path = top_ + "/forks/" + prefix + "0123456789abcdef";
    EXPECT_TRUE(make_room(folders_->forks(), fs::path(path).filename()).ok());
    put(path + "/files/f", text);
    return path;
  }
  static UniqueFd open(const std::string& path) {
    return UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  static void put(const std::string& path, const char* text) { std::ofstream(path) << text; }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string kept(const char* name) const { return top_ + "/workspaces/" + name; }

  std::optional<StateFolders> folders_;
  Loop loop_{1};
  std::shared_ptr<Trash> trash_;
};

TEST_F(Rooms, OfAProcessThatIsGoneKeepWhatIsNotedAndNothingElse) {
  std::string path = room("00000000000000aa", "mine");
  fs::create_directory(path + "/layers/twig");
  put(path + "/layers/twig/f", "of the branch");
  fs::create_directory(path + "/layers/planted");
  ASSERT_TRUE(note_session(open(path).get(), "main", "files").ok());
  ASSERT_TRUE(note_session(open(path).get(), "twig", "layers/twig").ok());
  EXPECT_EQ(sweep_rooms(*folders_, *trash_), 1u);
  EXPECT_EQ(read(kept("main") + "/f"), "mine");
  EXPECT_EQ(read(top_ + "/branches/twig/f"), "of the branch");
  EXPECT_FALSE(fs::exists(kept("twig")));
  EXPECT_FALSE(fs::exists(kept("planted")) || fs::exists(top_ + "/branches/planted"));
  EXPECT_TRUE(fs::is_empty(top_ + "/forks"));
}

TEST_F(Rooms, OfAProcessThatLivesAreLeftAlone) {
  std::optional<ForksClaim> claim(ForksClaim::make(folders_->forks()).value());
  std::string path = room(claim->prefix(), "mine");
  EXPECT_EQ(sweep_rooms(*folders_, *trash_), 0u);
  EXPECT_EQ(read(path + "/files/f"), "mine");
  claim.reset();
  EXPECT_EQ(sweep_rooms(*folders_, *trash_), 1u);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Rooms, APipeInThePlaceOfTheNotesHoldsNobody) {
  std::string path = room("0123456789abcdef", "text");
  ASSERT_EQ(::mkfifo((path + "/sessions").c_str(), 0600), 0);
  EXPECT_FALSE(note_session(open(path).get(), "one", "files").ok());
}

TEST_F(Rooms, ALinkInThePlaceOfFilesIsNotKept) {
  std::string path = room("00000000000000aa", "mine");
  put(top_ + "/secret", "secret");
  fs::create_symlink(top_, path + "/layers/twig");
  EXPECT_FALSE(keep_workspace(*folders_, "twig", open(path).get(), "layers/twig", *trash_).ok());
  EXPECT_FALSE(fs::exists(fs::symlink_status(top_ + "/branches/twig")));
  EXPECT_EQ(read(top_ + "/secret"), "secret");
}

TEST_F(Rooms, WhatWasKeptIsTheFilesOfTheNextRoom) {
  std::string path = room("00000000000000aa", "mine");
  ASSERT_TRUE(keep_workspace(*folders_, "main", open(path).get(), "files", *trash_).ok());
  ASSERT_TRUE(make_room(folders_->forks(), "next").ok());
  UniqueFd next = open(top_ + "/forks/next");
  Result<bool> moved = take_up_workspace(*folders_, "main", next.get());
  ASSERT_TRUE(moved.ok());
  EXPECT_TRUE(*moved);
  EXPECT_EQ(read(top_ + "/forks/next/files/f"), "mine");
  EXPECT_FALSE(fs::exists(kept("main")));
  moved = take_up_workspace(*folders_, "main", next.get());
  EXPECT_TRUE(moved.ok() && !*moved);
}

TEST_F(Rooms, WhatIsKeptTakesThePlaceOfBothThatWere) {
  std::string path = room("00000000000000aa", "newer");
  fs::create_directories(kept("main"));
  fs::create_directories(top_ + "/branches/main");
  ASSERT_TRUE(keep_workspace(*folders_, "main", open(path).get(), "files", *trash_).ok());
  EXPECT_EQ(read(kept("main") + "/f"), "newer");
  EXPECT_FALSE(fs::exists(top_ + "/branches/main"));
}

}  // namespace
}  // namespace caisson::session

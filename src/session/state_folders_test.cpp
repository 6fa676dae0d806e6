#include "session/state_folders.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/folder_fixture.h"

namespace caisson::session {
namespace {

namespace fs = std::filesystem;

class Folders : public FolderFixture {
 protected:
  bool is_workspace(const char* below, bool or_branch = false) {
    Result<StateFolders> folders = StateFolders::open(top_);
    return folders.ok() && folders->open_workspace(top_ + "/" + below, or_branch).ok();
  }
  bool is_room(const char* below) {
    Result<StateFolders> folders = StateFolders::open(top_);
    return folders.ok() && folders->open_room(below).ok();
  }
};

TEST_F(Folders, AreMadeForTheirOwnerAlone) {
  ASSERT_TRUE(StateFolders::open(top_).ok());
  for (const char* name : {"forks", "rooms", "workspaces", "branches", "trash", "own"}) {
    struct stat info;
    ASSERT_EQ(::stat((top_ + "/" + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777, 0700u) << name;
  }
}

TEST_F(Folders, OneThatOthersCanReachOrThatIsALinkIsRefused) {
  fs::create_directory_symlink("/tmp", top_ + "/rooms");
  EXPECT_FALSE(StateFolders::open(top_).ok());
  fs::remove(top_ + "/rooms");
  EXPECT_TRUE(StateFolders::open(top_).ok());
  ::chmod((top_ + "/forks").c_str(), 0755);
  EXPECT_FALSE(StateFolders::open(top_).ok());
}

TEST_F(Folders, AWorkspaceIsOneByItsPlaceAndNothingDeeper) {
  ASSERT_TRUE(StateFolders::open(top_).ok());
  fs::create_directories(top_ + "/workspaces/main/w");
  fs::create_directories(top_ + "/forks/z/r/files/w");
  fs::create_directories(top_ + "/rooms/main/layers/twig/w");
  EXPECT_TRUE(is_workspace("workspaces/main"));
  EXPECT_TRUE(is_workspace("forks/z/r/files"));
  EXPECT_TRUE(is_workspace("rooms/main/layers"));
  EXPECT_TRUE(is_workspace("rooms/main/layers/twig", true));
  EXPECT_FALSE(is_workspace("rooms/main/layers/twig"));
  for (const char* path :
       {"", "workspaces", "workspaces/main/w", "forks/z/r", "forks/z/r/files/w", "rooms/main",
        "rooms/main/layers/twig/w", "own", "workspaces/..", "workspaces/main/"})
    EXPECT_FALSE(is_workspace(path, true)) << path;
}

TEST_F(Folders, NoLinkIsAWorkspaceOrLeadsToARoom) {
  ASSERT_TRUE(StateFolders::open(top_).ok());
  fs::create_directories(top_ + "/rooms/main/layers");
  fs::create_directories(top_ + "/forks/z");
  fs::create_directories(top_ + "/elsewhere/files");
  fs::create_directory_symlink(top_ + "/elsewhere", top_ + "/rooms/main/layers/twig");
  fs::create_directory_symlink(top_ + "/elsewhere", top_ + "/forks/z/r");
  EXPECT_FALSE(is_workspace("rooms/main/layers/twig", true));
  EXPECT_FALSE(is_workspace("forks/z/r/files"));
  EXPECT_FALSE(is_room("forks/z/r"));
  EXPECT_TRUE(is_room("rooms/main"));
  EXPECT_FALSE(is_room("rooms/.."));
  EXPECT_FALSE(is_room("workspaces/main"));
}

TEST_F(Folders, AreThoseThatWereOpenedWhateverTheirNamesMeanLater) {
  Result<StateFolders> folders = StateFolders::open(top_);
  ASSERT_TRUE(folders.ok());
  fs::create_directories(top_ + "/workspaces/main/layers");
  fs::rename(top_ + "/rooms", top_ + "/rooms.old");
  fs::rename(top_ + "/workspaces", top_ + "/rooms");
  EXPECT_FALSE(folders->open_room("rooms/main").ok());
}

TEST_F(Folders, FilesOfEarlierServersMoveToTheServersFolder) {
  for (const char* name :
       {"main.snapshot", "0123456789abcdef.lock", "sessions.json", "api-token", "serve.sock.lock"})
    std::ofstream(top_ + "/" + name) << name;
  ASSERT_TRUE(StateFolders::open(top_).ok());
  for (const char* name : {"main.snapshot", "0123456789abcdef.lock", "sessions.json"})
    EXPECT_TRUE(fs::exists(own_folder(top_) + "/" + name)) << name;
  for (const char* name : {"api-token", "serve.sock.lock"})
    EXPECT_TRUE(fs::exists(top_ + "/" + name)) << name;
}

}  // namespace
}  // namespace caisson::session

#include "session/python_folders.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/folder_fixture.h"

namespace caisson::session {
namespace {

namespace fs = std::filesystem;

// A virtual environment in a project, made of an interpreter elsewhere.
class Installed : public FolderFixture {
 protected:
  Installed() {
    for (const char* folder : {"base/bin", "project/.venv/bin", "other"})
      fs::create_directories(top_ + "/" + folder);
    write("base/bin/python3", "");
    ::chmod((top_ + "/base/bin/python3").c_str(), 0700);
    fs::create_symlink(top_ + "/base/bin/python3", top_ + "/project/.venv/bin/python3");
    write("project/.venv/pyvenv.cfg", "home = " + top_ + "/base/bin\nversion = 3\n");
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(top_ + "/" + name) << text;
  }
  bool touched(const SessionSpec& spec, const std::string& python,
               const std::string& path = {}) const {
    WritableFolders folders;
    folders.add(spec);
    return folders.touch(python_folders(python, path));
  }
  SessionSpec with_workspace(const std::string& name) const {
    SessionSpec spec;
    spec.workspace = top_ + "/" + name;
    return spec;
  }
  SessionSpec with_words(std::vector<std::string> words) const {
    SessionSpec spec;
    spec.policy_words = std::move(words);
    return spec;
  }
};

TEST_F(Installed, AnEnvironmentInAWorkspaceIsItsSessions) {
  std::string python = top_ + "/project/.venv/bin/python3";
  EXPECT_TRUE(touched(with_workspace("project"), python));
  EXPECT_TRUE(touched(with_workspace("project/.venv"), python));
  EXPECT_TRUE(touched(with_workspace("project/.venv/lib"), python));
  EXPECT_FALSE(touched(with_workspace("other"), python));
  EXPECT_FALSE(touched(with_workspace("project"), top_ + "/base/bin/python3"));
}

TEST_F(Installed, SoIsWhatItIsMadeOf) {
  std::string python = top_ + "/project/.venv/bin/python3";
  EXPECT_TRUE(touched(with_workspace("base"), python));
  EXPECT_TRUE(touched(with_workspace("base"), "python3", "/nowhere:" + top_ + "/base/bin"));
}

TEST_F(Installed, ALinkOnTheWayCanBeTurned) {
  fs::create_directories(top_ + "/other/venv/bin");
  fs::create_symlink(top_ + "/base/bin/python3", top_ + "/other/venv/bin/python3");
  fs::create_symlink(top_ + "/other/venv", top_ + "/project/link");
  EXPECT_TRUE(touched(with_workspace("project"), top_ + "/project/link/bin/python3"));
  EXPECT_FALSE(touched(with_workspace("project"), top_ + "/other/venv/bin/python3"));
}

TEST_F(Installed, WordsOfAPolicyGiveFoldersToo) {
  std::string python = top_ + "/project/.venv/bin/python3", folder = top_ + "/project";
  EXPECT_TRUE(touched(with_words({"--allow-write", folder}), python));
  EXPECT_TRUE(touched(with_words({"--mount=" + folder + ":/x:rw"}), python));
  EXPECT_FALSE(touched(with_words({"--mount", folder + ":/x"}), python));
  EXPECT_TRUE(touched(with_words({"--policy", "file"}), python));
  EXPECT_FALSE(touched(with_words({"--policy", "file"}), "/usr/bin/true"));
  EXPECT_FALSE(touched(with_words({"--env", "A=" + folder}), python));
}

TEST_F(Installed, WhatWasGivenIsKnownByItsRealNameAndByWhatItIs) {
  fs::create_symlink(top_ + "/project", top_ + "/link");
  WritableFolders folders;
  folders.add(with_words({"--mount", top_ + "/link:/x:rw"}));
  WrittenPlaces places = folders.places();
  ASSERT_EQ(places.folders.size(), 1u);
  EXPECT_EQ(places.folders[0].path, top_ + "/project");
  struct stat info;
  ASSERT_EQ(::stat((top_ + "/project").c_str(), &info), 0);
  EXPECT_EQ(places.folders[0].identity, (FileIdentity{info.st_dev, info.st_ino}));
  EXPECT_FALSE(places.any);
  folders.add(with_words({"--mount", top_ + "/a\\:b:/x:rw"}));  // "a:b", for exec to read
  EXPECT_TRUE(folders.places().any);
}

TEST_F(Installed, WordsThatAreKnownAreNotReadAgain) {
  WritableFolders folders;
  folders.know({"--policy", "file"});
  folders.add(with_words({"--policy", "file"}));
  EXPECT_TRUE(folders.empty());
  folders.add(with_words({"--policy", "other"}));
  EXPECT_TRUE(folders.places().any);
}

}  // namespace
}  // namespace caisson::session

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

TEST_F(Installed, ItsSettingsAreReadAsPythonReadsThem) {
  std::string python = top_ + "/project/.venv/bin/python3";
  fs::create_directories(top_ + "/third/bin");
  write("project/.venv/pyvenv.cfg", std::string(5000, '#') + "\nHOME=" + top_ + "/third/bin\n");
  EXPECT_TRUE(touched(with_workspace("third"), python));
  EXPECT_FALSE(touched(with_workspace("other"), python));
  fs::remove(top_ + "/project/.venv/pyvenv.cfg");
  EXPECT_FALSE(touched(with_workspace("third"), python));
  write("project/.venv/bin/pyvenv.cfg", "home = " + top_ + "/third/bin\n");
  EXPECT_TRUE(touched(with_workspace("third"), python));
}

TEST_F(Installed, WhatIsNoPlainFileMayNameAnyFolder) {
  std::string python = top_ + "/project/.venv/bin/python3";
  std::string config = top_ + "/project/.venv/pyvenv.cfg";
  write("config", "version = 3\n");
  fs::remove(config);
  fs::create_symlink(top_ + "/config", config);
  EXPECT_TRUE(touched(with_workspace("other"), python));
  EXPECT_FALSE(touched({}, python));  // where nothing is written, nobody has to know
  fs::remove(config);
  ASSERT_EQ(::mkfifo(config.c_str(), 0600), 0);
  EXPECT_TRUE(touched(with_workspace("other"), python));
  fs::remove(config);
  write("project/.venv/pyvenv.cfg", std::string(100'000, '#'));
  EXPECT_TRUE(touched(with_workspace("other"), python));
  write("project/.venv/pyvenv.cfg", "home = bin\n");
  EXPECT_TRUE(touched(with_workspace("other"), python));
}

TEST_F(Installed, AWayThatIsNotThereOrTooLongMayLeadAnywhere) {
  SessionSpec other = with_workspace("other");
  EXPECT_TRUE(touched(other, top_ + "/none/bin/python3"));
  fs::create_symlink("loop", top_ + "/base/bin/loop");
  EXPECT_TRUE(touched(other, top_ + "/base/bin/loop"));
  std::string deep = top_ + "/base";
  for (int i = 0; i < 600; ++i) fs::create_directory(deep += "/d");
  fs::create_symlink(top_ + "/base/bin/python3", deep + "/python3");
  EXPECT_TRUE(touched(other, deep + "/python3"));
  EXPECT_FALSE(touched(other, top_ + "/base/bin/python3"));
}

TEST_F(Installed, AFolderThatIsMountedTwiceIsOne) {
  std::string python = top_ + "/base/bin/python3";
  struct stat info;
  ASSERT_EQ(::stat((top_ + "/base").c_str(), &info), 0);
  PythonFolders found = python_folders(python, {});
  for (auto* list : {&found.modules, &found.way})
    for (WrittenFolder& one : *list) one.path = "/by/another/name";
  WritableFolders folders;
  folders.add(with_workspace("base"));
  EXPECT_TRUE(folders.touch(found));
  WritableFolders inside;
  fs::create_directories(top_ + "/base/lib/python3");
  inside.add(with_workspace("base/lib/python3"));
  EXPECT_TRUE(inside.touch(found));
  WritableFolders others;
  others.add(with_workspace("other"));
  EXPECT_FALSE(others.touch(found));
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

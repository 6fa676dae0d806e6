#include "session/exec_variables.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/folder_fixture.h"

namespace caisson::session {
namespace {

constexpr const char* kSystem = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

class ExecVariables : public FolderFixture {
 protected:
  std::string program(const std::string& folder, const std::string& name) const {
    std::filesystem::create_directories(top_ + "/" + folder);
    std::string path = top_ + "/" + folder + "/" + name;
    std::ofstream(path) << "";
    ::chmod(path.c_str(), 0700);
    return path;
  }
};

TEST_F(ExecVariables, PathIsTheSystemsAndTheInterpretersOwnFolder) {
  program("venv/bin", "python3");
  std::string server = top_ + "/marked:" + top_ + "/venv/bin:" + top_ + "/more:/usr/bin";
  EXPECT_EQ(cell_path("", server), top_ + "/venv/bin:" + kSystem);
  EXPECT_EQ(cell_path("python3", server), top_ + "/venv/bin:" + kSystem);
  EXPECT_EQ(cell_path(top_ + "/venv/bin/python3", "/usr/bin"), top_ + "/venv/bin:" + kSystem);
  EXPECT_EQ(cell_path("no-such-python", server), kSystem);
  EXPECT_EQ(cell_path("/usr/bin/python3", server), kSystem);
  EXPECT_EQ(cell_path("venv/bin/python3", server), kSystem);
}

TEST_F(ExecVariables, AFolderIsNoProgramAndNoNameIsTwoFolders) {
  std::filesystem::create_directories(top_ + "/marked/odd-python");
  EXPECT_EQ(cell_path("odd-python", top_ + "/marked"), kSystem);
  EXPECT_EQ(cell_path(program("a:/tmp", "python3"), ""), kSystem);
}

TEST_F(ExecVariables, NothingOfTheServersThatExecWouldGiveToACellIsThere) {
  std::vector<std::string> ours{"PATH=/marked",   "HOME=/home/ada", "LANG=marked", "LC_ALL=marked",
                                "TZ=marked",      "TERM=marked",    "LANGUAGE=x",  "TOKEN=masked",
                                "PATHS=is other", "LANGS=too"};
  std::vector<std::string> expected{"HOME=/home/ada",
                                    "TOKEN=masked",
                                    "PATHS=is other",
                                    "LANGS=too",
                                    std::string("PATH=") + kSystem,
                                    "LANG=C.UTF-8"};
  SessionSpec spec;
  spec.python = "/usr/bin/python3";
  EXPECT_EQ(exec_variables(ours, spec), expected);
}

TEST_F(ExecVariables, WhatThePolicyPassesByNameStays) {
  std::vector<std::string> ours{"PATH=/marked", "LANG=de_DE.UTF-8", "TZ=Europe/Berlin"};
  SessionSpec spec;
  spec.policy_words = {"--env-pass", "PATH", "--env-pass=LANG", "--env", "TZ"};
  std::vector<std::string> expected{"PATH=/marked", "LANG=de_DE.UTF-8"};
  EXPECT_EQ(exec_variables(ours, spec), expected);
}

TEST_F(ExecVariables, AValueIsFoundByItsWholeName) {
  std::vector<std::string> all{"PATHS=a", "PATH=b", "EMPTY="};
  EXPECT_EQ(value_of(all, "PATH"), "b");
  EXPECT_EQ(value_of(all, "EMPTY"), "");
  EXPECT_EQ(value_of(all, "NONE"), "");
}

}  // namespace
}  // namespace caisson::session

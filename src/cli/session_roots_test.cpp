#include "cli/session_roots.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/folder_fixture.h"

namespace caisson {
namespace {

namespace fs = std::filesystem;

class SessionRootsTest : public FolderFixture {
 protected:
  SessionRootsTest() {
    for (const char* folder : {"/w/in", "/other", "/home"}) fs::create_directories(top_ + folder);
    caller_.home = top_ + "/home";
    caller_.cwd = top_;
  }

  bool fits(std::vector<std::string> words, std::vector<std::string> workspaces = {}) {
    Result<std::vector<std::string>> found =
        check_roots({std::move(words), std::move(workspaces)}, caller_);
    if (found) written_ = *found;
    return found.ok();
  }
  std::string mount(const char* source, const char* rest) const { return top_ + source + rest; }
  std::string policy(const std::string& json) const {
    std::string path = top_ + "/policy.json";
    std::ofstream(path) << json;
    return path;
  }

  Caller caller_;
  std::vector<std::string> written_;
};

TEST_F(SessionRootsTest, WhatSessionsWriteIsGivenByItsRealPath) {
  fs::create_symlink(top_ + "/other", top_ + "/link");
  EXPECT_TRUE(fits({"--allow-write", top_ + "/link", "--mount", mount("/home", ":/h")},
                   {top_ + "/w", top_ + "/not/yet"}));
  std::ranges::sort(written_);
  EXPECT_EQ(written_, (std::vector<std::string>{top_ + "/not/yet", top_ + "/other", top_ + "/w"}));
  EXPECT_TRUE(fits({}));
  EXPECT_TRUE(written_.empty());
}

TEST_F(SessionRootsTest, NothingMayLieInIt) {
  EXPECT_FALSE(fits({}, {top_ + "/w", top_ + "/w/in"}));
  EXPECT_FALSE(fits({}, {top_ + "/w/in", top_ + "/w"}));
  EXPECT_FALSE(fits({}, {top_ + "/not", top_ + "/not//yet"}));
  EXPECT_FALSE(fits({"--mount", mount("/w", ":/w:rw")}, {top_ + "/w/in"}));
  EXPECT_FALSE(fits({"--mount", mount("/w/none", ":/n")}, {top_ + "/w"}));
  EXPECT_TRUE(fits({"--mount", mount("/w", ":/w:ro")}, {top_ + "/w/in"}));
  EXPECT_TRUE(fits({"--mount", mount("/w", ":/w:ro")}, {top_ + "/w"}));
  EXPECT_TRUE(fits({}, {top_ + "/w", top_ + "/w/", top_ + "/other", top_ + "/wide"}));
}

TEST_F(SessionRootsTest, APathIsReadAsExecReadsIt) {
  fs::create_directories(top_ + "/home/data");
  EXPECT_FALSE(fits({"--mount", "~/data:/d"}, {top_ + "/home"}));
  EXPECT_TRUE(fits({"--mount", "~/data:/d"}, {top_ + "/w"}));
  EXPECT_FALSE(fits({"--mount", top_.substr(1) + "/w/in:/d"}, {top_ + "/w"}));  // from "/" on
}

TEST_F(SessionRootsTest, APolicyFileAndWhatItSaysAreRead) {
  std::string file = policy(R"({"filesystem": {"mounts": [")" + top_ + R"(/w:/w:rw"]}})");
  EXPECT_TRUE(fits({"--policy", file}));
  EXPECT_EQ(written_, std::vector<std::string>{top_ + "/w"});
  EXPECT_FALSE(fits({"--policy", file}, {top_ + "/w/in"}));
  EXPECT_FALSE(fits({"--policy", file}, {top_}));
  EXPECT_FALSE(fits({"--policy", top_ + "/none.json"}));  // that could come to be anything
}

TEST_F(SessionRootsTest, WordsThatMakeNoCellAreToldToWhoAsksForOne) {
  EXPECT_TRUE(fits({"--tier", "nonsense"}, {top_ + "/w"}));
}

}  // namespace
}  // namespace caisson

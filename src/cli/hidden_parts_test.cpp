#include "cli/hidden_parts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/folder_fixture.h"

namespace caisson {
namespace {

namespace fs = std::filesystem;

class HiddenParts : public FolderFixture {
 protected:
  HiddenParts() {
    for (const char* folder : {"/w/in", "/other"}) fs::create_directories(top_ + folder);
    std::ofstream(top_ + "/w/in/key") << "key";
  }
  // Whether what `rules` hide stays hidden when that folder is shown at `inside`.
  bool stays(const std::vector<std::string>& rules, const std::string& folder,
             const std::string& inside, bool literal = false,
             HiddenBy which = HiddenBy::kAny) const {
    Settings settings;
    for (const std::string& one : rules)
      settings.file_rules.deny_read.push_back(
          {.text = one, .literal = literal, .origin = "a rule", .reason = {}});
    struct stat info {};
    ::stat(folder.c_str(), &info);
    ShownPlace place{"--mount", {folder, {info.st_dev, info.st_ino}}, inside};
    return check_hidden_parts(settings, {place}, which).ok();
  }
};

TEST_F(HiddenParts, ARuleHoldsAtItsOwnPath) {
  std::string w = top_ + "/w";
  for (const char* rule : {"/in/key", "/in", "/**/key", "/*/key", "", "/in/not-yet"}) {
    EXPECT_FALSE(stays({w + rule}, w, "/workspace")) << rule;
    EXPECT_TRUE(stays({w + rule}, w, w)) << rule;
    EXPECT_TRUE(stays({w + rule}, top_ + "/other", "/workspace")) << rule;
  }
  EXPECT_FALSE(stays({w + "/in/key"}, w + "/in/key", "/data/key"));
  EXPECT_FALSE(stays({w + "/IN/key"}, w + "/in", "/data"));
  EXPECT_TRUE(stays({}, w, "/workspace"));
}

TEST_F(HiddenParts, OrAtAllPathsOrAtBoth) {
  std::string w = top_ + "/w";
  EXPECT_TRUE(stays({"/**/key"}, w, "/workspace"));
  EXPECT_FALSE(stays({"/**/w/key"}, w, "/workspace"));
  EXPECT_TRUE(stays({w + "/in/key", "/workspace/in/key"}, w, "/workspace"));
  EXPECT_FALSE(stays({w + "/in/*", "/workspace/in/key"}, w, "/workspace"));
  EXPECT_FALSE(stays({w + "/**/key"}, w, "/workspace", true));
}

TEST_F(HiddenParts, WhatLiesInAHiddenFolderIsNamedToBeShown) {
  std::string in = top_ + "/w/in";
  EXPECT_TRUE(stays({top_}, in, "/workspace"));
  EXPECT_TRUE(stays({top_ + "/**"}, in, "/workspace"));
  EXPECT_FALSE(stays({in}, in, "/workspace"));
}

TEST_F(HiddenParts, ByWhatIsNamedInTheFolderAlone) {
  std::string w = top_ + "/w";
  for (const char* rule : {"/in/key", "/**/key", ""})
    EXPECT_FALSE(stays({w + rule}, w, "/workspace", false, HiddenBy::kNameInside)) << rule;
  EXPECT_TRUE(stays({top_ + "/**/key"}, w, "/workspace", false, HiddenBy::kNameInside));
  EXPECT_FALSE(stays({top_ + "/**/key"}, w, "/workspace"));
}

TEST_F(HiddenParts, LinksAreFollowed) {
  fs::create_symlink(top_ + "/w", top_ + "/link");
  EXPECT_FALSE(stays({top_ + "/link/in/key"}, top_ + "/w", "/workspace"));
  EXPECT_TRUE(stays({top_ + "/link/in/key"}, top_ + "/w", top_ + "/link"));
  EXPECT_FALSE(stays({top_ + "/w/in/key"}, top_ + "/w", top_ + "/link"));
}

TEST_F(HiddenParts, AFolderByAnotherName) {
  // As if it were mounted there: the name differs, and it is the same.
  Settings settings;
  settings.file_rules.deny_read.push_back(
      {.text = top_ + "/w/in/key", .literal = true, .origin = "a rule", .reason = {}});
  struct stat info {};
  ASSERT_EQ(::stat((top_ + "/w").c_str(), &info), 0);
  ShownPlace alias{"--mount", {"/alias", {info.st_dev, info.st_ino}}, "/alias"};
  EXPECT_FALSE(check_hidden_parts(settings, {alias}, HiddenBy::kAny).ok());
}

TEST_F(HiddenParts, MaskedFilesAreHiddenToo) {
  Settings settings;
  settings.network_details.masks.push_back(
      {.source = SecretSource::kFile, .from = top_ + "/w/in/key"});
  ShownPlace elsewhere{"--mount", {top_ + "/w", {}}, "/data"},
      here{"", {top_ + "/w", {}}, top_ + "/w"};
  EXPECT_FALSE(check_hidden_parts(settings, {elsewhere}, HiddenBy::kAny).ok());
  EXPECT_TRUE(check_hidden_parts(settings, {here}, HiddenBy::kAny).ok());
}

}  // namespace
}  // namespace caisson

#include "session/load_rules.h"

#include <gtest/gtest.h>

namespace caisson::session {
namespace {

OpenedFile file(std::string path, std::vector<FileIdentity> folders = {}) {
  return {std::move(path), {1, 1000}, std::move(folders)};
}

TEST(LoadRules, FoldersOfKeysBelowHomeAreDenied) {
  LoadRules rules("/nowhere/home/", {});
  for (const char* path :
       {"/nowhere/home/.ssh", "/nowhere/home/.ssh/id", "/nowhere/home/.aws/credentials",
        "/nowhere/home/.config/gcloud/x/y", "/nowhere/home/.gnupg/private"})
    EXPECT_FALSE(rules.judge(file(path)).ok()) << path;
  for (const char* path :
       {"/nowhere/home/.sshd/x", "/nowhere/home/.config/other", "/nowhere/home/ssh", "/tmp/.ssh/x"})
    EXPECT_TRUE(rules.judge(file(path)).ok()) << path;
}

TEST(LoadRules, MorePathsMayBeNamed) {
  LoadRules rules("/nowhere/home", {"/data/secret/", "~/notes"});
  EXPECT_FALSE(rules.judge(file("/data/secret/a")).ok());
  EXPECT_FALSE(rules.judge(file("/nowhere/home/notes/a")).ok());
  EXPECT_TRUE(rules.judge(file("/data/secrets")).ok());
}

TEST(LoadRules, AFolderUnderAnotherNameIsStillThatFolder) {
  LoadRules rules(std::vector<DeniedPath>{{"/home/u/.ssh", {8, 42}}});
  EXPECT_FALSE(rules.judge(file("/mnt/bind/id", {{8, 41}, {8, 42}})).ok());
  EXPECT_TRUE(rules.judge(file("/mnt/bind/id", {{8, 41}, {9, 42}})).ok());
  OpenedFile itself = file("/mnt/x");
  itself.identity = {8, 42};
  EXPECT_FALSE(rules.judge(itself).ok());
}

TEST(LoadRules, WhatDoesNotExistMatchesNothingByNumber) {
  LoadRules rules(std::vector<DeniedPath>{{"/home/u/.ssh", {}}});
  EXPECT_TRUE(rules.judge(OpenedFile{"/x", {}, {{}}}).ok());
}

TEST(LoadRules, ThePathIsAbsolute) {
  LoadRules rules("", {});
  for (const char* path : {"", "relative", "../x"})
    EXPECT_FALSE(open_for_load(rules, path, "", {.bytes = 100}).ok()) << path;
}

TEST(LoadRules, AFileBeyondTheBoundIsNotCopied) {
  LoadRules rules("", {});
  EXPECT_FALSE(open_for_load(rules, "/proc/self/exe", "", {.bytes = 100}).ok());
  EXPECT_TRUE(open_for_load(rules, "/proc/self/exe", "", {.bytes = uint64_t{1} << 32}).ok());
}

}  // namespace
}  // namespace caisson::session

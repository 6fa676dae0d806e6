#include "session/path_walk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/folder_fixture.h"

namespace caisson::session {
namespace {

namespace fs = std::filesystem;

class PathWalk : public FolderFixture {
 protected:
  PathWalk() {
    fs::create_directories(top_ + "/a/b");
    fs::create_directories(top_ + "/other");
    std::ofstream(top_ + "/a/b/file") << "x";
  }

  void link(const std::string& to, const std::string& name) {
    fs::create_symlink(to, top_ + "/" + name);
  }
  // Where the path ends, by its real name; "" if it isn't there. Turns below the top are kept.
  std::string end_of(const std::string& path) {
    turns_.clear();
    Result<Walked> way = walk_path(path, [this](int folder, Turn turn) -> Result<void> {
      std::string at = *real_path_of(folder);
      const char* kind = turn == Turn::kName ? "" : turn == Turn::kLink ? "@" : "..";
      if (at.starts_with(top_)) turns_.push_back(at.substr(top_.size()) + kind);
      return {};
    });
    if (!way) return "error " + std::to_string(way.error().errnum);
    missing_ = way->missing;
    return way->end ? real_path_of(way->end.get()).value() : std::string();
  }

  std::string missing_;
  std::vector<std::string> turns_;
};

TEST_F(PathWalk, EndsWhereTheKernelWouldEnd) {
  link("b", "a/short");
  link(top_ + "/a", "whole");
  link("../other/../a/short/file", "other/far");
  for (const char* path : {"/a/b/file", "/a/short/file", "/whole/short/./file", "/other/far",
                           "//a//b//file", "/a/b/../b/file", "/whole/b/..", "/a/b/"})
    EXPECT_EQ(end_of(top_ + path), fs::canonical(top_ + path).string()) << path;
  EXPECT_EQ(end_of("/"), "/");
}

TEST_F(PathWalk, EveryLinkIsToldBeforeItIsFollowed) {
  link("b", "a/short");
  link("../a/short/file", "other/far");
  link("round", "round");
  std::vector<std::string> links;
  auto go_on = [](int, Turn) { return Result<void>(); };
  auto note = [&](int folder, const std::string& name, FileIdentity) -> Result<void> {
    links.push_back((*real_path_of(folder)).substr(top_.size()) + "/" + name);
    return name == "round" ? Error::plain("not that one") : Result<void>();
  };
  EXPECT_TRUE(walk_as_far(top_ + "/other/far", go_on, note)->end);
  EXPECT_EQ(links, (std::vector<std::string>{"/other/far", "/a/short"}));
  EXPECT_EQ(walk_as_far(top_ + "/round/x", go_on, note).error().what, "not that one");
}

// Else nobody would know in which folder it lies.
TEST_F(PathWalk, AFileOnTheWayIsToldWithTheFolderItLiesIn) {
  auto go_on = [](int, Turn) { return Result<void>(); };
  for (const char* rest : {"/x", "/..", "/../x"}) {
    Result<Walked> way = walk_as_far(top_ + "/a/b/file" + rest, go_on);
    ASSERT_TRUE(way.ok());
    EXPECT_EQ(way->why, ENOTDIR);
    EXPECT_EQ(*real_path_of(way->folder.get()), top_ + "/a/b");
    EXPECT_EQ(way->missing, std::string("file") + rest);
  }
}

TEST_F(PathWalk, EveryTurnIsTold) {
  link("../a/b", "other/in");
  EXPECT_EQ(end_of(top_ + "/other/in/file"), top_ + "/a/b/file");
  EXPECT_EQ(turns_, (std::vector<std::string>{"", "/other@", "/other..", "", "/a", "/a/b"}));
}

TEST_F(PathWalk, WhatIsNotThereIsTheRest) {
  EXPECT_EQ(end_of(top_ + "/a/none/x"), "");
  EXPECT_EQ(missing_, "none/x");
  EXPECT_EQ(turns_.back(), "/a");
  link("/nowhere/at/all", "broken");
  EXPECT_EQ(end_of(top_ + "/broken"), "");
  EXPECT_EQ(missing_, "nowhere/at/all");
}

TEST_F(PathWalk, WhereItStoppedIsToldWhateverTheReason) {
  link("b/file", "a/way");
  link("round", "a/round");
  auto nothing = [](int, Turn) { return Result<void>(); };
  struct {
    const char *path, *folder, *missing;
    int why;
  } cases[] = {{"/a/way/x/y", "/a/b", "x/y", ENOTDIR},  // below a file: it is there, and known
               {"/a/round/x", "/a", "round/x", ELOOP},
               {"/a/none/x", "/a", "none/x", ENOENT}};
  for (const auto& one : cases) {
    Result<Walked> way = walk_as_far(top_ + one.path, nothing);
    ASSERT_TRUE(way.ok() && !way->end && way->folder) << one.path;
    EXPECT_EQ(way->why, one.why) << one.path;
    EXPECT_TRUE(way->missing.ends_with(one.missing)) << way->missing;
    EXPECT_TRUE(real_path_of(way->folder.get())->starts_with(top_ + one.folder)) << one.path;
    EXPECT_EQ(walk_path(top_ + one.path, nothing).ok(), one.why == ENOENT) << one.path;
  }
}

TEST(PlainPath, IsReadByItsLettersAlone) {
  for (auto [path, plain] :
       std::initializer_list<std::pair<const char*, const char*>>{{"/", "/"},
                                                                  {"", "/"},
                                                                  {"/a//b/./c/", "/a/b/c"},
                                                                  {"/a/../b", "/b"},
                                                                  {"/../../a", "/a"},
                                                                  {"/a/b/../..", "/"},
                                                                  {"/a/..b/...", "/a/..b/..."}})
    EXPECT_EQ(plain_path(path), plain) << path;
}

// Each look goes up to the root, and a cell that writes a folder can have the way turn as it likes.
TEST_F(PathWalk, TurnsAreCountedAndAFolderIsLookedAtOnce) {
  std::string same = top_, many = top_;
  for (int i = 0; i < 70; ++i) {
    fs::create_directories(top_ + "/" + std::to_string(i));
    same += "/a/..";
    many += "/" + std::to_string(i) + "/..";
  }
  EXPECT_EQ(end_of(same), top_);
  EXPECT_EQ(std::ranges::count(turns_, "/a.."), 1);
  EXPECT_EQ(end_of(many), "error " + std::to_string(ELOOP));
  std::string long_way = top_;
  for (int i = 0; i < 3000; ++i) long_way += "/.";
  EXPECT_EQ(end_of(long_way + "/a"), top_ + "/a");
  for (int i = 0; i < 1200; ++i) long_way += "/.";
  EXPECT_EQ(end_of(long_way), "error " + std::to_string(ELOOP));
}

TEST_F(PathWalk, WhatLiesTooDeepIsNotJudgedByHalf) {
  fs::path deep = top_;
  for (int i = 0; i < 260; ++i) deep /= "d";
  fs::create_directories(deep);
  UniqueFd end{::open(deep.c_str(), O_PATH | O_CLOEXEC)};
  EXPECT_FALSE(folders_from(end.get()).ok());
  UniqueFd above{::open((top_ + "/d/d/d").c_str(), O_PATH | O_CLOEXEC)};
  EXPECT_TRUE(folders_from(above.get()).ok());
}

TEST_F(PathWalk, LoopsAndFilesOnTheWayAreErrors) {
  link("two", "one");
  link("one", "two");
  EXPECT_EQ(end_of(top_ + "/one"), "error " + std::to_string(ELOOP));
  EXPECT_EQ(end_of(top_ + "/a/b/file/x"), "error " + std::to_string(ENOTDIR));
  EXPECT_EQ(end_of("relative"), "error " + std::to_string(EINVAL));
  EXPECT_EQ(end_of(std::string("/a\0b", 4)), "error " + std::to_string(EINVAL));
}

TEST_F(PathWalk, AnErrorAtATurnEndsTheWalk) {
  link("a", "to");
  auto no_links = [](int, Turn turn) -> Result<void> {
    if (turn == Turn::kLink) return Error::plain("a link");
    return {};
  };
  EXPECT_TRUE(walk_path(top_ + "/a/b", no_links).ok());
  EXPECT_EQ(walk_path(top_ + "/to/b", no_links).error().what, "a link");
}

TEST(FollowedLinks, InAFolderOfAllThoseOfSomebodyElseAreNot) {
  struct stat folder {
  }, link{};
  folder.st_uid = 0;
  for (uid_t owner : {0u, 1000u, 1001u}) {
    link.st_uid = owner;
    folder.st_mode = S_IFDIR | 01777;
    EXPECT_EQ(may_follow_link(folder, link, 1000), owner != 1001) << owner;
    folder.st_mode = S_IFDIR | 0755;
    EXPECT_TRUE(may_follow_link(folder, link, 1000)) << owner;
  }
}

TEST_F(PathWalk, AFolderIsKnownByWhatItIs) {
  struct stat info;
  ASSERT_EQ(::stat((top_ + "/a").c_str(), &info), 0);
  WrittenFolder renamed{"/elsewhere", {info.st_dev, info.st_ino}}, named{top_ + "/a", {}};
  auto place = [this](const char* path) {
    UniqueFd fd{::open((top_ + path).c_str(), O_PATH)};
    return *place_of(fd.get());
  };
  for (const WrittenFolder& one : {renamed, named}) {
    EXPECT_TRUE(lies_in(place("/a"), one));
    EXPECT_TRUE(lies_in(place("/a/b"), one));
    EXPECT_FALSE(lies_in(place("/other"), one));
    EXPECT_FALSE(lies_in(place(""), one));
  }
  EXPECT_FALSE(lies_in({top_ + "/ab", {}}, named));
  EXPECT_TRUE(lies_in(place("/other"), {"/", {}}));
}

}  // namespace
}  // namespace caisson::session

#include "session/load_rules.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "base/folder_fixture.h"
#include "session/slices.h"

namespace caisson::session {
namespace {

namespace fs = std::filesystem;

Task<> load_into(Loop& loop, std::string path, LoadBounds bounds,
                 std::optional<Result<LoadedFiles>>& to, WrittenPlaces written = {},
                 LoadRules rules = LoadRules("", {})) {
  FileIdentity nowhere;
  auto budget = std::make_shared<LoadBudget>(loop, uint64_t{1} << 40, std::chrono::seconds(1));
  Result<LoadedFiles> files =
      co_await open_for_load(loop, rules, path, nowhere, written, bounds, budget);
  to.emplace(std::move(files));
}

Result<LoadedFiles> load(const std::string& path, LoadBounds bounds, WrittenPlaces written = {}) {
  Loop loop{1};
  std::optional<Result<LoadedFiles>> files;
  spawn(loop, load_into(loop, path, bounds, files, std::move(written)));
  loop.run();
  return std::move(*files);
}

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

TEST(LoadRules, SecretsOfTheSystemAreDenied) {
  LoadRules rules("/nowhere/home", {});
  for (const char* path : {"/etc/shadow", "/etc/ssh/ssh_host_ed25519_key", "/etc/sudoers.d/x"})
    EXPECT_FALSE(rules.judge(file(path)).ok()) << path;
  for (const char* path : {"/etc/passwd", "/etc/hosts", "/etc/ssl/certs/x.pem"})
    EXPECT_TRUE(rules.judge(file(path)).ok()) << path;
}

TEST(LoadRules, SoAreKeysBelowAnotherHome) {
  LoadRules rules("/nowhere/home", {});
  EXPECT_TRUE(rules.judge(file("/nowhere/other/.ssh/id")).ok());
  rules.deny_credentials_below("/nowhere/other");
  EXPECT_FALSE(rules.judge(file("/nowhere/other/.ssh/id")).ok());
  EXPECT_FALSE(rules.judge(file("/nowhere/home/.ssh/id")).ok());
}

TEST(LoadRules, MorePathsMayBeNamed) {
  LoadRules rules("/nowhere/home", {"/data/secret/", "~/notes"});
  EXPECT_FALSE(rules.judge(file("/data/secret/a")).ok());
  EXPECT_FALSE(rules.judge(file("/nowhere/home/notes/a")).ok());
  EXPECT_TRUE(rules.judge(file("/data/secrets")).ok());
}

TEST(LoadRules, FilesOfCredentialsAreDeniedAndTheirNeighboursAreNot) {
  LoadRules rules("/nowhere/home", {});
  for (const char* path : {"/nowhere/home/.netrc", "/nowhere/home/.docker/config.json",
                           "/nowhere/home/.config/gh/hosts.yml"})
    EXPECT_FALSE(rules.judge(file(path)).ok()) << path;
  for (const char* path : {"/nowhere/home/.docker/contexts/x", "/nowhere/home/.config/ghostty/x",
                           "/nowhere/home/.netrc2"})
    EXPECT_TRUE(rules.judge(file(path)).ok()) << path;
}

TEST(LoadRules, WhatAPolicyHidesIsHiddenUnlessACloserRuleShowsIt) {
  LoadRules rules("", {"/p/secret/open/key"},
                  {{"/p/secret/**"},
                   {"/p/secret/open", false, true},
                   {"/p/secret/open/in", true},
                   {"/p/**/*.[pP]em"},
                   {"/p/lit*", true}});
  for (const char* path :
       {"/p/secret", "/p/secret/a", "/p/SECRET/a", "/p/secret/open/in/x", "/p/secret/open/key",
        "/p/a.pem", "/p/a/b/c.Pem", "/p/a.pem/below", "/p/lit*/x"})
    EXPECT_FALSE(rules.judge(file(path)).ok()) << path;
  for (const char* path : {"/p/secrets", "/p/secret/open", "/p/secret/open/x", "/p/pem",
                           "/p/literal", "/q/a.pem", "/p"})
    EXPECT_TRUE(rules.judge(file(path)).ok()) << path;
}

TEST(LoadRules, OfWhatIsHiddenNobodyLearnsWhetherItIsThere) {
  LoadRules rules("/nowhere/home", {}, {{"/nowhere/p/*.pem"}});
  for (const char* path :
       {"/nowhere/home/.ssh/none", "/nowhere/home/x/../.ssh/none", "/nowhere/p/a.pem"})
    EXPECT_FALSE(rules.judge_absent(path).ok()) << path;
  EXPECT_TRUE(rules.judge_absent("/nowhere/home/none").ok());
}

TEST(LoadRules, AFolderThatIsDeniedIsSoByWhatItIs) {
  LoadRules rules(std::vector<DeniedPath>{{"/home/u/.ssh", {8, 42}}});
  EXPECT_FALSE(rules.judge_absent("/mnt/bind/none", {{8, 42}, {8, 41}}).ok());
  EXPECT_TRUE(rules.judge_absent("/mnt/bind/none", {{8, 41}}).ok());
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
  for (const char* path : {"", "relative", "../x"})
    EXPECT_FALSE(load(path, {.bytes = 100}).ok()) << path;
}

// A number is used again soon after its file was removed.
TEST(LoadRules, AFileThatWasMadeLaterIsAnotherOne) {
  EXPECT_EQ((FileIdentity{8, 42, 1000}), (FileIdentity{8, 42, 1000}));
  EXPECT_EQ((FileIdentity{8, 42, 1000}), (FileIdentity{8, 42}));  // not known
  EXPECT_NE((FileIdentity{8, 42, 1000}), (FileIdentity{8, 42, 1001}));
  LoadRules rules(std::vector<DeniedPath>{{"/home/u/.claude.json", {8, 42, 1000}}});
  OpenedFile later = file("/p/notes");
  later.identity = {8, 42, 1001};
  EXPECT_TRUE(rules.judge(later).ok());
  later.identity.born = 1000;
  EXPECT_FALSE(rules.judge(later).ok());
}

TEST(LoadRules, AnExceptionOfOnePolicyIsNoneToAnother) {
  LoadRules rules("", {}, {{"/p/secret"}, {"/p/secret/open", false, true}});
  EXPECT_TRUE(rules.judge(file("/p/secret/open/x")).ok());
  rules.hide({{"/q/key"}, {{"/p"}, {"/p/secret/open/in", false, true}}});
  EXPECT_FALSE(rules.judge(file("/p/secret/open/x")).ok());
  EXPECT_TRUE(rules.judge(file("/p/secret/open/in/x")).ok());
  EXPECT_FALSE(rules.judge(file("/q/key")).ok());
  rules.hide({{}, {{"/r"}, {"/p", false, true}}});
  EXPECT_FALSE(rules.judge(file("/p/secret/x")).ok());
}

// A file that is there while it is needed.
class Memory {
 public:
  Memory() : fd_(::mkstemp(name_)) {}
  ~Memory() { ::unlink(name_); }
  void put(const std::string& bytes, off_t at) {
    ASSERT_EQ(::pwrite(fd_.get(), bytes.data(), bytes.size(), at), ssize_t(bytes.size()));
  }
  void set_size(off_t size) { ASSERT_EQ(::ftruncate(fd_.get(), size), 0); }
  std::string path() const { return name_; }

 private:
  char name_[32] = "/tmp/caisson-load-XXXXXX";
  UniqueFd fd_;
};

TEST(LoadRules, AFileBeyondTheBoundIsNotCopied) {
  Memory memory;
  memory.put(std::string(1000, 'x'), 0);
  EXPECT_FALSE(load(memory.path(), {.bytes = 100}).ok());
  EXPECT_TRUE(load(memory.path(), {.bytes = 1000}).ok());
}

// By /proc/PID/root and the like another cell's files have names that no rule here knows.
TEST(LoadRules, LinksOfTheKernelsOwnAreNotFollowed) {
  for (const char* path : {"/proc/self/exe", "/proc/self/root/etc/passwd", "/proc/self/cwd"}) {
    Result<LoadedFiles> files = load(path, {.bytes = uint64_t{1} << 32});
    ASSERT_FALSE(files.ok()) << path;
    EXPECT_NE(files.error().what.find("a link of the kernel's own"), std::string::npos)
        << files.error().what;
  }
}

// A hole costs whoever made it nothing: copied as bytes it would fill the host's memory.
TEST(Load, AHoleStaysAHoleAndTheBytesAroundItAreThere) {
  Memory memory;
  constexpr off_t kFar = 900 << 20, kSize = 1000 << 20;
  memory.put("first", 0);
  memory.put("second", kFar);
  memory.set_size(kSize);
  Result<LoadedFiles> files = load(memory.path(), {.bytes = uint64_t{1} << 30});
  ASSERT_TRUE(files.ok()) << files.error().what;
  ASSERT_EQ(files->files.size(), 1u);
  EXPECT_EQ(files->files[0].size, uint64_t{kSize});
  int copy = files->files[0].bytes.get();
  struct stat info;
  ASSERT_EQ(::fstat(copy, &info), 0);
  EXPECT_EQ(info.st_size, kSize);
  EXPECT_LT(info.st_blocks * 512, 8 << 20);
  char text[8] = {};
  EXPECT_EQ(::pread(copy, text, 6, 0), 6);
  EXPECT_STREQ(text, "first");
  EXPECT_EQ(::pread(copy, text, 6, kFar), 6);
  EXPECT_STREQ(text, "second");
}

TEST(Load, AFileThatIsAHoleOrEmptyIsLoaded) {
  for (off_t size : {0, 5 << 20}) {
    Memory memory;
    memory.set_size(size);
    Result<LoadedFiles> files = load(memory.path(), {.bytes = 8 << 20});
    ASSERT_TRUE(files.ok()) << files.error().what;
    EXPECT_EQ(files->files[0].size, uint64_t(size));
  }
}

Task<> count_turns(Loop& loop, const std::optional<Result<LoadedFiles>>& done, size_t& turns) {
  for (; !done; ++turns) co_await boost::asio::post(loop.get_executor(), kAwait);
}

TEST(Load, OthersHaveTheirTurnWhileALargeFileIsCopied) {
  Memory memory;
  const std::string piece(8 << 20, 'x');
  for (off_t i = 0; i < 16; ++i) memory.put(piece, i * off_t(piece.size()));
  Loop loop{1};
  std::optional<Result<LoadedFiles>> files;
  size_t turns = 0;
  spawn(loop, load_into(loop, memory.path(), {.bytes = uint64_t{1} << 30}, files));
  spawn(loop, count_turns(loop, files, turns));
  loop.run();
  ASSERT_TRUE(files && files->ok());
  EXPECT_EQ((*files)->files[0].size, 16 * piece.size());
  EXPECT_GT(turns, 1u);
}

class Patterns : public FolderFixture {
 protected:
  void put(const std::string& name) {
    fs::create_directories(fs::path(top_ + name).parent_path());
    std::ofstream(top_ + name) << "x";
  }
  std::vector<std::string> keys(const std::string& pattern, LoadBounds bounds = {.bytes = 1000}) {
    Result<LoadedFiles> files = load(top_ + pattern, bounds);
    if (!files) return {files.error().what.substr(files.error().what.rfind(": ") + 2)};
    std::vector<std::string> all;
    for (const LoadedFile& one : files->files) all.push_back(one.key);
    return all;
  }
};

TEST_F(Patterns, AreExpandedPartByPart) {
  for (const char* name : {"/a/one.csv", "/a/two.csv", "/a/.three.csv", "/b/one.csv", "/b/x.txt"})
    put(name);
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys("/a/*.csv"), (Keys{"one.csv", "two.csv"}));
  EXPECT_EQ(keys("/?/one.csv"), (Keys{"one.csv", top_ + "/b/one.csv"}));
  EXPECT_EQ(keys("/[ab]/x*"), (Keys{"x.txt"}));
  EXPECT_EQ(keys("/a/.*"), (Keys{".three.csv"}));
  EXPECT_EQ(keys("/*/./../a/t*"), (Keys{"two.csv", top_ + "/b/../a/two.csv"}));
  EXPECT_EQ(keys("/*"), (Keys{"no such file"}));  // folders are not loaded
  EXPECT_EQ(keys("/c/*"), (Keys{"no such file"}));
  put("/d/a[1].txt");
  EXPECT_EQ(keys("/d/a[1].txt"), (Keys{""}));  // what has that very name
  EXPECT_EQ(keys("/d/a\\[1*"), (Keys{"a[1].txt"}));
}

TEST_F(Patterns, LookAtSoManyNamesAndNoMore) {
  for (int i = 0; i < 20; ++i) put("/a/" + std::to_string(i));
  Result<LoadedFiles> files = load(top_ + "/a/*", {.bytes = 1000, .entries = 5 + 10});
  ASSERT_TRUE(files.ok());
  EXPECT_LT(files->files.size(), 20u);
  ASSERT_EQ(files->left_out.size(), 1u);
  EXPECT_NE(files->left_out[0].find("too many names"), std::string::npos);
}

// Deep enough, 5,000 names of a cell are 20 MB of paths.
TEST_F(Patterns, PathsTakeSoManyBytesAndNoMore) {
  for (int i = 0; i < 20; ++i) put("/a/" + std::to_string(i) + "/x");
  LoadBounds bounds{.bytes = 1000, .path_bytes = 10 * (sizeof(std::string) + top_.size() + 5)};
  for (const char* pattern : {"/a/*/x", "/a/*/*", "/a"}) {
    Result<LoadedFiles> files = load(top_ + pattern, bounds);
    ASSERT_TRUE(files.ok()) << pattern;
    EXPECT_LT(files->files.size(), 15u) << pattern;
    ASSERT_EQ(files->left_out.size(), pattern == std::string("/a/*/*") ? 2u : 1u) << pattern;
    EXPECT_NE(files->left_out[0].find("too many names"), std::string::npos);
  }
  EXPECT_EQ(keys("/a/1?/x", bounds).size(), 10u);
}

TEST_F(Patterns, OthersHaveTheirTurnWhileNamesAreMatched) {
  std::string name(240, 'a');
  for (int i = 0; i < 100; ++i) put("/a/" + name + std::to_string(i));
  std::string slow = top_ + "/a/*[" + std::string(1000, 'a') + "]" + std::string(120, 'a') + "b";
  Loop loop{1};
  std::optional<Result<LoadedFiles>> files;
  size_t turns = 0;
  spawn(loop, load_into(loop, slow, {.bytes = 1000}, files));
  spawn(loop, count_turns(loop, files, turns));
  loop.run();
  EXPECT_FALSE(files->ok());
  EXPECT_GT(turns, 2u);
}

// Of a name in a folder that is denied nobody learns whether it is there, by whichever way.
TEST_F(Patterns, LinksIntoADeniedFolderTellNothing) {
  put("/home/.ssh/id");
  fs::create_symlink("home/.ssh", top_ + "/way");
  fs::create_symlink("round", top_ + "/home/.ssh/round");
  for (const char* path : {"/way/id", "/way/none", "/way/id/x", "/way/none/x", "/way/round",
                           "/way/*", "/way/n*", "/way/id/*", "/home/x/../.ssh/none"}) {
    Loop loop{1};
    std::optional<Result<LoadedFiles>> files;
    LoadRules rules(top_ + "/home", {});
    spawn(loop, load_into(loop, top_ + path, {.bytes = 1000}, files, {}, rules));
    loop.run();
    ASSERT_FALSE(files->ok()) << path;
    EXPECT_TRUE(files->error().what.ends_with("which sessions may not read"))
        << path << ": " << files->error().what;
  }
}

class Ways : public Patterns {
 protected:
  void link(const std::string& to, const std::string& name) { fs::create_symlink(to, top_ + name); }
  std::string load_by(const LoadRules& rules, const std::string& path, LoadBounds bounds = {1000}) {
    Loop loop{1};
    std::optional<Result<LoadedFiles>> files;
    spawn(loop, load_into(loop, top_ + path, bounds, files, {}, rules));
    loop.run();
    return files->ok() ? "" : files->error().what;
  }
};

// stow and home-manager keep the files themselves elsewhere.
TEST_F(Ways, ALinkIsJudgedWhereItLies) {
  put("/home/.aws/dir/x");
  put("/home/dotfiles/cred");
  link("../dotfiles/cred", "/home/.aws/credentials");
  link("../dotfiles", "/home/.aws/all");
  LoadRules rules(top_ + "/home", {});
  EXPECT_EQ(load_by(rules, "/home/dotfiles/cred"), "");
  for (std::string rest : {"", "/cred", "/../x", "/../../dotfiles/cred"})
    for (const char* name : {"credentials", "all", "dir", "none"}) {
      std::string path = fmt::format("/home/.aws/{}{}", name, rest);
      EXPECT_EQ(load_by(rules, path),
                fmt::format("load {}{}: it lies in {}/home/.aws, which sessions "
                            "may not read",
                            top_, path, top_));
    }
  EXPECT_NE(load_by(rules, "/home/.aws/../dotfiles/cred"), "");
}

TEST_F(Ways, ALinkThatAPolicyShowsAgainIsFollowed) {
  put("/shown/note");
  put("/secret/in/x");
  link("../shown", "/secret/open");
  link("../../shown", "/secret/in/way");
  link("../shown", "/secret/other");
  LoadRules rules("", {},
                  {{top_ + "/secret"},
                   {top_ + "/secret/open", false, true},
                   {top_ + "/secret/in", false, true}});
  EXPECT_EQ(load_by(rules, "/secret/open/note"), "");
  EXPECT_EQ(load_by(rules, "/secret/in/way/note"), "");  // up through what is hidden
  EXPECT_NE(load_by(rules, "/secret/other/note"), "");
  EXPECT_NE(load_by(rules, "/secret/../shown/note"), "");
}

TEST_F(Ways, ARuleStaysWhatItWasAndIsWhatItBecame) {
  put("/private/k");
  put("/later/k");
  link("private", "/way");
  LoadRules rules("", {top_ + "/made"}, {{top_ + "/way/k"}});
  fs::remove(top_ + "/way");
  EXPECT_NE(load_by(rules, "/private/k"), "");
  link("later", "/way");
  put("/made/k");
  EXPECT_NE(load_by(rules, "/private/k"), "");
  EXPECT_NE(load_by(rules, "/later/k"), "");
  fs::rename(top_ + "/private/k", top_ + "/private/moved");  // the same file
  EXPECT_NE(load_by(rules, "/private/moved"), "");
  link(top_ + "/made", "/other");
  EXPECT_NE(load_by(rules, "/other/k"), "");
}

TEST_F(Ways, AHomeIsOneUnderEveryName) {
  put("/data/home/x");
  link("data/home", "/home");
  LoadRules rules(top_ + "/home", {});
  for (const char* path : {"/home/.aws/none", "/data/home/.aws/none", "/data/home/.netrc"})
    EXPECT_TRUE(load_by(rules, path).ends_with("which sessions may not read")) << path;
  EXPECT_EQ(load_by(rules, "/home/x"), "");
}

TEST_F(Ways, APatternFindsNothingThatIsDenied) {
  put("/home/x/y");
  LoadRules rules(top_ + "/home", {});
  auto answers = [&] {
    std::vector<std::string> all;
    for (const char* path :
         {"/home/.netr?", "/home/.aw?/*", "/home/.aw[s]/credentials", "/home/.*"})
      all.push_back(load_by(rules, path));
    return all;
  };
  std::vector<std::string> before = answers();
  put("/home/.netrc");
  put("/home/.aws/credentials");
  EXPECT_EQ(answers(), before);
  EXPECT_TRUE(before[0].ends_with("no such file")) << before[0];
}

TEST_F(Ways, ASearchHasAnEnd) {
  put("/a/b/c");
  LoadRules rules("", {});
  for (const char* path : {"/a", "/a/*/c", "/*/*/*"}) {
    std::string told =
        load_by(rules, path, {.bytes = 1000, .looking = std::chrono::milliseconds(-1)});
    EXPECT_TRUE(told.ends_with("it takes too long to look for files")) << path << ": " << told;
  }
}

TEST_F(Ways, ANameThatIsNotUtf8IsToldByItsBytes) {
  using Keys = std::vector<std::string>;
  put("/a/\xff");
  put("/a/d\xfe/x");
  EXPECT_EQ(keys("/a"), (Keys{"d\\xfe/x", "\\xff"}));
  EXPECT_EQ(keys("/a/*"), (Keys{"\\xff"}));
}

TEST(LoadRules, APatternsHeadIsWhereItsLinksLead) {
  char name[] = "/tmp/caisson-rules-XXXXXX";
  std::string top = fs::canonical(::mkdtemp(name)).string();
  fs::create_directories(top + "/real/in");
  fs::create_symlink("real", top + "/way");
  std::string round;
  for (int i = 0; i < 800; ++i) round += "real/../";
  fs::create_symlink(round.substr(0, 4000), top + "/loop");  // of a cell, say
  LoadRules rules("", {}, {{top + "/way/*.pem"}, {top + "/way/none/below"}, {top + "/loop/x"}});
  EXPECT_FALSE(rules.judge(file(top + "/real/a.pem")).ok());
  EXPECT_FALSE(rules.judge(file(top + "/real/none/below/x")).ok());
  EXPECT_TRUE(rules.judge(file(top + "/real/none/beside")).ok());
  fs::remove_all(top);
}

// Beside one folder that sessions write lies what they were not given.
class Written : public FolderFixture {
 protected:
  Written() {
    for (const char* folder : {"/w/in", "/outside"}) fs::create_directories(top_ + folder);
    for (const char* file : {"/w/in/plain", "/outside/taxes"}) std::ofstream(top_ + file) << "x";
  }
  std::string link(const std::string& to, const std::string& name) const {
    fs::create_symlink(to, top_ + name);
    return top_ + name;
  }
  bool loads(const std::string& path, bool any = false) const {
    return load(path, {.bytes = 100}, {{{top_ + "/w", {}}}, any}).ok();
  }
};

TEST_F(Written, ALinkThereMayNotLeadOut) {
  EXPECT_TRUE(loads(top_ + "/w/in/plain"));
  EXPECT_TRUE(loads(top_ + "/outside/taxes"));
  EXPECT_FALSE(loads(link(top_ + "/outside/taxes", "/w/one")));
  EXPECT_FALSE(loads(link("../../outside/taxes", "/w/in/two")));
  EXPECT_FALSE(loads(link(top_ + "/outside", "/w/folder") + "/taxes"));
  EXPECT_FALSE(loads(link(top_ + "/w/in", "/short") + "/two"));  // the user's own, into it
  EXPECT_FALSE(loads(top_ + "/w/in/../../outside/taxes"));       // "in" may be a link by then
  EXPECT_TRUE(loads(link("in/plain", "/w/three")));
  EXPECT_TRUE(loads(link(top_ + "/outside/taxes", "/four")));
}

TEST_F(Written, WhereItIsNotKnownWhichTheyAreNoLinkIsFollowed) {
  std::string mine = link(top_ + "/outside/taxes", "/mine");
  EXPECT_TRUE(loads(mine));
  EXPECT_FALSE(loads(mine, true));
  EXPECT_TRUE(loads(top_ + "/outside/taxes", true));
}

}  // namespace
}  // namespace caisson::session

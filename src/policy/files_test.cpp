#include "policy/files.h"

#include <gtest/gtest.h>

#include "policy/fake_host_files.h"
#include "policy/resolve.h"

namespace caisson {

namespace {

using Kind = FilePlaceKind;

FakeHostFiles host() {
  FakeHostFiles files;
  files.folder("/home/ann/project/.git")
      .file("/home/ann/project/ro.cfg")
      .folder("/home/ann/secret/public/inner")
      .file("/home/ann/token")
      .folder("/tmp")
      .link("/home/ann/link", "/home/ann/project");
  return files;
}

Caller ann() { return {.uid = 1000, .gid = 1000, .home = "/home/ann", .cwd = "/home/ann/project"}; }

Settings view(FileRules rules) {
  Settings settings;
  rules.host_view = true;
  settings.file_rules = std::move(rules);
  return settings;
}

FilePattern pattern(std::string text) { return {.text = std::move(text), .origin = "test"}; }

Result<Policy> resolved(FileRules rules) {
  return resolve(view(std::move(rules)), ann(), {{"/bin/true"}}, host());
}

std::vector<std::pair<Kind, std::string>> places(const Policy& policy) {
  std::vector<std::pair<Kind, std::string>> out;
  for (const FilePlace& place : policy.file_rules.places) out.emplace_back(place.kind, place.path);
  return out;
}

}  // namespace

TEST(HostView, TheCurrentFolderIsTheWorkingDirectoryAndNothingIsMounted) {
  Policy policy = resolved({}).value();
  EXPECT_EQ(policy.workdir, "/home/ann/project");
  EXPECT_TRUE(policy.mounts.empty());
  EXPECT_TRUE(policy.file_rules.places.empty());
}

TEST(HostView, AWritableFolderIsNamedByItsLinksTargetAndTwoStarsAtTheEndSayNothing) {
  Policy policy = resolved({.allow_write = {pattern("/home/ann/link/**")}}).value();
  EXPECT_EQ(places(policy),
            (std::vector<std::pair<Kind, std::string>>{{Kind::kWritable, "/home/ann/project"}}));
}

TEST(HostView, WhatCannotBeGrantedIsSkippedWithANote) {
  Policy policy =
      resolved({.allow_write = {pattern("/home/ann/absent"), pattern("/home/*/project")}}).value();
  EXPECT_TRUE(policy.file_rules.places.empty());
  EXPECT_EQ(policy.notes.size(), 2u);
}

TEST(HostView, ADenialInsideAWritableFolderIsAPlaceAndOutsideOfOneIsNone) {
  Policy policy =
      resolved({.allow_write = {pattern("/home/ann/project")},
                .deny_write = {pattern("/home/ann/project/ro.cfg"), pattern("/home/ann/token")}})
          .value();
  EXPECT_EQ(places(policy), (std::vector<std::pair<Kind, std::string>>{
                                {Kind::kWritable, "/home/ann/project"},
                                {Kind::kReadOnly, "/home/ann/project/ro.cfg"}}));
}

TEST(HostView, TheMostSpecificReadRuleWins) {
  Policy policy = resolved({.deny_read = {pattern("/home/ann/secret"),
                                          pattern("/home/ann/secret/public/inner")},
                            .allow_read = {pattern("/home/ann/secret/public")}})
                      .value();
  EXPECT_EQ(places(policy), (std::vector<std::pair<Kind, std::string>>{
                                {Kind::kHidden, "/home/ann/secret"},
                                {Kind::kShown, "/home/ann/secret/public"},
                                {Kind::kHidden, "/home/ann/secret/public/inner"}}));
}

TEST(HostView, AFolderShownAgainIsWritableWhereTheWriteRulesSaySo) {
  Policy policy = resolved({.deny_read = {pattern("/home/ann/secret")},
                            .allow_read = {pattern("/home/ann/secret/public")},
                            .allow_write = {pattern("/home/ann")}})
                      .value();
  EXPECT_EQ(places(policy), (std::vector<std::pair<Kind, std::string>>{
                                {Kind::kWritable, "/home/ann"},
                                {Kind::kHidden, "/home/ann/secret"},
                                {Kind::kWritable, "/home/ann/secret/public"}}));
}

TEST(HostView, AFolderThatHasToBeMadeIsMadeInAPrivateTmp) {
  FileRules rules;
  rules.make_folders = {"/tmp/claude"};
  EXPECT_EQ(places(resolved(rules).value()),
            (std::vector<std::pair<Kind, std::string>>{{Kind::kPrivate, "/tmp"},
                                                       {Kind::kPrivate, "/tmp/claude"}}));
}

TEST(HostView, ALinkThatACellCanTurnGrantsNothing) {
  FakeHostFiles files = host();
  files.link("/home/ann/project/out", "/home/ann/secret");
  files.link("/home/ann/project/in", "out/public");
  auto places_of = [&](FileRules rules) {
    Policy policy = resolve(view(std::move(rules)), ann(), {{"/bin/true"}}, files).value();
    EXPECT_EQ(policy.notes.size(), 1u);
    return places(policy);
  };
  using Places = std::vector<std::pair<Kind, std::string>>;
  const FilePattern project = pattern("/home/ann/project");
  for (const char* name : {"/home/ann/project/out", "/home/ann/project/out/**",
                           "/home/ann/project/in/inner", "/home/ann/link/out"}) {
    EXPECT_EQ(places_of({.allow_write = {pattern(name), project}}),
              (Places{{Kind::kWritable, "/home/ann/project"}}))
        << name;
    EXPECT_EQ(places_of({.deny_read = {pattern("/home/ann/secret")},
                         .allow_read = {pattern(name)},
                         .allow_write = {project}}),
              (Places{{Kind::kWritable, "/home/ann/project"}, {Kind::kHidden, "/home/ann/secret"}}))
        << name;
  }
  // Where nothing is written the link is its owner's.
  Policy policy = resolve(view({.allow_write = {pattern("/home/ann/project/out")}}), ann(),
                          {{"/bin/true"}}, files)
                      .value();
  EXPECT_EQ(places(policy), (Places{{Kind::kWritable, "/home/ann/secret"}}));
}

TEST(HostView, WhatIsHiddenThoughItIsWritableTurnsNoLink) {
  FakeHostFiles files = host();
  files.link("/programs", "/home/ann/project");
  Policy policy = resolve(view({.deny_read = {pattern("/")},
                                .allow_read = {pattern("/programs")},
                                .allow_write = {pattern("/")}}),
                          ann(), {{"/bin/true"}}, files)
                      .value();
  ASSERT_EQ(policy.file_rules.places.size(), 2u);
  EXPECT_EQ(policy.file_rules.places[1].path, "/home/ann/project");
}

TEST(HostView, ASocketIsNotAllowedOverALinkThatACellCanTurn) {
  FakeHostFiles files = host();
  files.link("/home/ann/project/agent", "/home/ann/token");
  Settings settings = view({.allow_write = {pattern("/home/ann/project")}});
  settings.sockets = {{"/home/ann/project/agent", "test"}, {"/home/ann/link/other", "test"}};
  Policy policy = resolve(settings, ann(), {{"/bin/true"}}, files).value();
  EXPECT_EQ(policy.file_rules.sockets,
            (std::vector<std::string>{"/home/ann/project/agent", "/home/ann/project/other"}));
}

TEST(HostView, TheCellsOwnProcessesCanNotBeHidden) {
  for (const char* path : {"/proc", "/proc/self", "/proc/17"}) {
    FakeHostFiles files = host();
    files.folder("/proc/17").link("/proc/self", "17").file("/proc/cpuinfo");
    EXPECT_EQ(
        resolve(view({.deny_read = {pattern(path)}}), ann(), {{"/bin/true"}}, files).error().what,
        std::string("test: ") + path + " is the cell's own: it can't be hidden");
    EXPECT_TRUE(
        resolve(view({.deny_read = {pattern("/proc/cpuinfo")}}), ann(), {{"/bin/true"}}, files));
  }
}

TEST(HostView, DevicesAndProcessesAreTheCellsOwn) {
  FakeHostFiles files = host();
  files.file("/dev/null").folder("/dev/shm").folder("/proc/17").link("/proc/self", "17");
  Policy policy =
      resolve(view({.deny_read = {pattern("/")},
                    .allow_read = {pattern("/proc"), pattern("/proc/self"), pattern("/tmp")},
                    .allow_write = {pattern("/dev"), pattern("/dev/null"), pattern("/dev/shm")}}),
              ann(), {{"/bin/true"}}, files)
          .value();
  using Places = std::vector<std::pair<Kind, std::string>>;
  EXPECT_EQ(places(policy),
            (Places{{Kind::kHidden, "/"}, {Kind::kWritable, "/dev/shm"}, {Kind::kShown, "/tmp"}}));
}

TEST(HostView, WhereTheResolversFileLeadsIsShownWithIt) {
  FakeHostFiles files = host();
  files.folder("/etc").file("/run/resolver/conf").link("/etc/resolv.conf", "../run/resolver/conf");
  Settings settings = view({.deny_read = {pattern("/")}, .allow_read = {pattern("/etc")}});
  Policy policy = resolve(settings, ann(), {{"/bin/true"}}, files).value();
  using Places = std::vector<std::pair<Kind, std::string>>;
  EXPECT_EQ(
      places(policy),
      (Places{{Kind::kHidden, "/"}, {Kind::kShown, "/etc"}, {Kind::kShown, "/run/resolver/conf"}}));
}

TEST(HostView, TheHeadOfAPatternHasItsLinksResolved) {
  Policy policy =
      resolved({.deny_write = {pattern("/home/ann/link/**/.bashrc"), pattern("/home/ann/link")}})
          .value();
  const std::vector<FilePattern>& rules = policy.file_rules.deny_write;
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].text, "/home/ann/project/**/.bashrc");
  EXPECT_EQ(rules[0].literal_head, 3u);
  EXPECT_EQ(rules[1].text, "/home/ann/link");     // the link's own place
  EXPECT_EQ(rules[2].text, "/home/ann/project");  // and what it leads to
}

// Whoever leads one of them elsewhere puts another file in the place of the one that is protected.
TEST(HostView, EveryLinkOnTheWayToWhatMayNotBeWrittenStays) {
  Policy policy = resolved({.deny_read = {pattern("/home/ann/link/x")},
                            .deny_write = {pattern("/home/ann/link/x")}})
                      .value();
  const std::vector<FilePattern>& rules = policy.file_rules.deny_write;
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].text, "/home/ann/project/x");
  EXPECT_EQ(rules[1].text, "/home/ann/link");
  EXPECT_TRUE(rules[1].covers == FilePattern::Covers::kItself);
  EXPECT_EQ(policy.file_rules.deny_read.size(), 1u);
}

TEST(HostView, WhatIsTheKernelsIsReadOnlyWhateverIsWritable) {
  FakeHostFiles files = host();
  files.folder("/sys/fs/cgroup/x").folder("/home/ann/project/proc");
  files.file("/proc/self/mountinfo",
             "1 0 0:1 / /sys rw - sysfs sysfs rw\n"
             "2 0 0:2 / /home/ann/project/proc rw - proc proc rw\n");
  auto places_of = [&](const char* writable) {
    return places(
        resolve(view({.allow_write = {pattern(writable)}}), ann(), {{"/bin/true"}}, files).value());
  };
  std::pair<Kind, std::string> hidden{Kind::kHidden, "/home/ann/project/proc"};
  EXPECT_EQ(places_of("/"), (std::vector<std::pair<Kind, std::string>>{
                                {Kind::kWritable, "/"}, hidden, {Kind::kReadOnly, "/sys"}}));
  EXPECT_EQ(places_of("/sys/fs/cgroup/x"), (std::vector<std::pair<Kind, std::string>>{hidden}));
  EXPECT_EQ(places_of("/home/ann/project"), (std::vector<std::pair<Kind, std::string>>{
                                                {Kind::kWritable, "/home/ann/project"}, hidden}));
  Policy all = resolve(view({.unlimited = true}), ann(), {{"/bin/true"}}, files).value();
  EXPECT_EQ(places(all),
            (std::vector<std::pair<Kind, std::string>>{hidden, {Kind::kReadOnly, "/sys"}}));
}

TEST(HostView, ASetOfOneIsThatOne) {
  Policy policy =
      resolved({.deny_write = {pattern("/home/ann/[l]ink/**/x"), pattern("/a/[[]slug]/f"),
                               pattern("/a/[ab]/f"), pattern("/a/[!]/f")}})
          .value();
  const std::vector<FilePattern>& rules = policy.file_rules.deny_write;
  ASSERT_EQ(rules.size(), 4u);
  EXPECT_EQ(rules[0].text, "/home/ann/project/**/x");
  EXPECT_EQ(rules[0].literal_head, 3u);
  EXPECT_EQ(rules[1].text, "/a/[slug]/f");
  EXPECT_EQ(rules[1].literal_head, 3u);
  EXPECT_EQ(rules[2].literal_head, 1u);
  EXPECT_EQ(rules[3].literal_head, 1u);
}

TEST(HostView, APatternThatIsNoneIsRefused) {
  for (const char* text : {"relative", "/a/../b", ""})
    EXPECT_FALSE(resolved({.deny_write = {pattern(text)}}).ok()) << text;
}

TEST(HostView, RulesAreInTheDigest) {
  EXPECT_NE(digest(resolved({}).value()),
            digest(resolved({.deny_write = {pattern("/home/ann/**/.bashrc")}}).value()));
}

}  // namespace caisson

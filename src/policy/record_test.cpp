#include "policy/record.h"

#include <gtest/gtest.h>

#include "policy/fake_host_files.h"
#include "policy/resolve.h"
#include "policy/schema.h"

namespace caisson {
namespace {

constexpr const char* kRecord = "/home/ada/.local/state/caisson";

struct RecordWorld : FakeHost {
  Settings settings;
  RecordWorld() {
    files.file(std::string(kRecord) + "/audit.jsonl").folder(std::string(kRecord) + "/mcp/w/one");
    settings.record_folder = kRecord;
  }
  RecordWorld& flags(std::vector<std::string> args) {
    FlagCursor cursor{args};
    EXPECT_TRUE(apply_flags(settings, cursor, nullptr, nullptr, {}).ok());
    return *this;
  }
  Result<Policy> resolved() const { return resolve(settings, caller, {{"true"}}, files); }
  // The paths that are covered, or the error.
  std::string covered() const {
    Result<Policy> policy = resolved();
    if (!policy) return policy.error().what;
    std::string all;
    for (const Cover& cover : policy->covers) all += cover.path + " ";
    return all;
  }
};

TEST(RecordOfAMount, IsCoveredWhereverItShows) {
  EXPECT_EQ(RecordWorld().covered(), "") << "the current folder does not hold it";
  EXPECT_EQ(RecordWorld().flags({"--workspace", "/home/ada"}).covered(),
            "/workspace/.local/state/caisson ");
  EXPECT_EQ(RecordWorld().flags({"--mount", "/home/ada/.local/state:/s"}).covered(), "/s/caisson ");
  EXPECT_EQ(RecordWorld().flags({"--allow-write", "/home/ada/.local"}).covered(),
            "/home/ada/.local/state/caisson ");
  EXPECT_EQ(
      RecordWorld().flags({"--mount", "/home:/h", "--mount", "/home/ada/.local:/l"}).covered(),
      "/h/ada/.local/state/caisson /l/state/caisson ");
  RecordWorld here;
  here.caller.cwd = "/home/ada/.local/state";
  EXPECT_EQ(here.covered(), "/home/ada/.local/state/caisson ") << "the current folder does";
}

TEST(RecordOfAMount, IsCoveredBeforeItIsThereAndBehindALink) {
  RecordWorld world;
  world.settings.record_folder = "/home/ada/new/state/caisson";
  EXPECT_EQ(world.flags({"--workspace", "/home/ada"}).covered(), "/workspace/new/state/caisson ");
  RecordWorld linked;
  linked.files.folder("/data/state/caisson").link("/srv/state", "/data/state");
  linked.settings.record_folder = "/srv/state/caisson";
  EXPECT_EQ(linked.flags({"--workspace", "/data"}).covered(), "/workspace/state/caisson ");
}

TEST(RecordOfAMount, IsLeftAloneWhereAnotherMountHidesIt) {
  RecordWorld world;
  EXPECT_EQ(world.flags({"--mount", "/home/ada/.local:/l", "--mount", "/tmp:/l/state"}).covered(),
            "");
  RecordWorld inside;
  inside.flags({"--mount", "/home/ada/.local:/l", "--mount", "/tmp:/l/state/caisson/mcp"});
  EXPECT_NE(inside.covered().find("lies in caisson's record"), std::string::npos);
}

TEST(RecordOfAMount, IsNeverTheMountItself) {
  for (std::string source : {"", "/audit.jsonl", "/mcp"}) {
    RecordWorld world;
    world.flags({"--mount", kRecord + source + ":/x"});
    EXPECT_NE(world.covered().find("keeps its record"), std::string::npos) << source;
    ASSERT_FALSE(world.resolved().ok());
    EXPECT_FALSE(world.resolved().error().hint.empty());
  }
  EXPECT_EQ(RecordWorld().flags({"--workspace", std::string(kRecord) + "/mcp/w/one"}).covered(), "")
      << "the workspace of a session";
}

TEST(RecordOfAMount, IsLeftOutAsTheCurrentFolder) {
  RecordWorld world;
  world.caller.cwd = kRecord;
  Result<Policy> policy = world.resolved();
  ASSERT_TRUE(policy.ok()) << policy.error().what;
  EXPECT_TRUE(policy->mounts.empty());
  ASSERT_EQ(policy->notes.size(), 1u);
  EXPECT_NE(policy->notes[0].find("keeps its record"), std::string::npos);
}

// A cell that turns it has the next record begin anew, where it can write.
TEST(RecordOfAMount, IsNotReachedOverALinkThatACellCanTurn) {
  RecordWorld world;
  world.files.folder("/data/state/caisson").link("/home/ada/project/state", "/data/state");
  world.settings.record_folder = "/home/ada/project/state/caisson";
  EXPECT_EQ(world.covered(), "") << "the current folder is read-only";
  EXPECT_NE(world.flags({"--workspace", "."}).covered().find("could turn elsewhere"),
            std::string::npos);
}

TEST(RecordOfAMount, IsPartOfTheDigest) {
  RecordWorld with, without;
  without.settings.record_folder.clear();
  for (RecordWorld* one : {&with, &without}) one->flags({"--workspace", "/home/ada/.local"});
  EXPECT_NE(digest(*with.resolved()), digest(*without.resolved()));
  EXPECT_EQ(digest(*RecordWorld().resolved()).size(), 64u);
}

TEST(RecordOfAMount, IsHiddenInTheHostView) {
  RecordWorld world;
  world.settings.file_rules.host_view = true;
  Result<Policy> policy = world.resolved();
  ASSERT_TRUE(policy.ok());
  ASSERT_EQ(policy->file_rules.places.size(), 1u);
  EXPECT_EQ(policy->file_rules.places[0].path, kRecord);
  EXPECT_EQ(policy->file_rules.places[0].kind, FilePlaceKind::kHidden);
  EXPECT_EQ(policy->file_rules.deny_write.size(), 1u);
}

}  // namespace
}  // namespace caisson

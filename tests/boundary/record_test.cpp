// Claim: the record of what ran is in no cell, whatever is mounted.
#include <errno.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

// A folder that holds the record of the cells that are run with it, two folders down.
struct State {
  TempFolder top;
  RunOptions how{.environment = {{"XDG_STATE_HOME", top / "a/state"}}};

  State() {
    make_folder(top / "a/state");
    EXPECT_TRUE(ended_with(run_cell({"/bin/true"}, {}, how), 0));
    EXPECT_FALSE(record().empty());
  }
  std::string record() const { return read_file(top / "a/state/caisson/audit.jsonl"); }
  Words workspace() const { return {"--workspace", top / "a/state"}; }
  // The same folder, for cells that keep their record elsewhere.
  RunOptions elsewhere() const { return {}; }
  bool is_whole() const { return run({caisson_binary(), "log", "verify"}, how).code == 0; }
};

TEST(Record, T66_AnEmptyFolderLiesOverItInEveryMount) {
  State state;
  struct Case {
    Words options;
    std::string at;
  };
  const Case cases[] = {
      {state.workspace(), "/workspace"},
      {{"--workspace", state.top.path()}, "/workspace/a/state"},
      {mount(state.top / "a/state", "/s", "ro"), "/s"},
      {mount(state.top / "a/state", "/s", "rw"), "/s"},
      {{"--allow-write", state.top / "a"}, state.top / "a/state"},
  };
  for (const auto& [options, at] : cases) {
    SCOPED_TRACE(options[1]);
    std::string folder = at + "/caisson", file = folder + "/audit.jsonl";
    Answer list = in_cell({"list", folder}, options, state.how);
    EXPECT_TRUE(worked(list));
    EXPECT_EQ(list.detail, "");
    EXPECT_TRUE(refused_with(in_cell({"read", file}, options, state.how), {ENOENT}));
    EXPECT_TRUE(refused_with(in_cell({"lock", file}, options, state.how), {ENOENT}));
    EXPECT_TRUE(refused_with(in_cell({"create", file, "x"}, options, state.how), {EROFS, EACCES}));
    // The probes themselves work where the folder is nobody's record.
    EXPECT_NE(in_cell({"list", folder}, options, state.elsewhere()).detail, "");
    EXPECT_TRUE(worked(in_cell({"read", file}, options, state.elsewhere())));
    EXPECT_TRUE(worked(in_cell({"lock", file}, options, state.elsewhere())));
  }
}

TEST(Record, T66_TheCurrentFolderShowsNoneOfItEither) {
  State state;
  RunOptions here = state.how, other = state.elsewhere();
  here.folder = other.folder = state.top / "a/state";
  EXPECT_EQ(in_cell({"list", "caisson"}, {}, here).detail, "");
  EXPECT_TRUE(refused_with(in_cell({"lock", "caisson/audit.jsonl"}, {}, here), {ENOENT}));
  EXPECT_TRUE(worked(in_cell({"lock", "caisson/audit.jsonl"}, {}, other)));
}

TEST(Record, T66_ACellCannotEraseIt) {
  const Words attack = {"/bin/sh", "-c", "(: > caisson/audit.jsonl); rm caisson/audit.head; true"};
  State state;
  std::string before = state.record();
  EXPECT_TRUE(ended_with(run_cell(attack, state.workspace(), state.how), 0));
  EXPECT_TRUE(state.record().starts_with(before));
  EXPECT_TRUE(state.is_whole());
  EXPECT_TRUE(ended_with(run_cell(attack, state.workspace(), state.elsewhere()), 0));
  EXPECT_FALSE(state.record().starts_with(before)) << "the attack itself works";
}

// The cover goes with its folder, and the name would be free for a record of the cell's own.
TEST(Record, T07_T66_AFolderAboveItCannotBeRenamed) {
  State state;
  Words options = {"--workspace", state.top.path()};
  for (const Words& move : {Words{"rename", "/workspace/a", "/workspace/b"},
                            Words{"rename", "/workspace/a/state", "/workspace/b"},
                            Words{"rename", "/workspace/a/state/caisson", "/workspace/b"}}) {
    EXPECT_TRUE(refused(in_cell(move, options, state.how))) << move[1];
    EXPECT_TRUE(exists(state.top / "a/state/caisson/audit.jsonl")) << move[1];
  }
  EXPECT_TRUE(
      worked(in_cell({"rename", "/workspace/a", "/workspace/b"}, options, state.elsewhere())));
}

TEST(Record, T66_ItsOwnFolderIsNoMount) {
  State state;
  std::string folder = state.top / "a/state/caisson";
  const Words ask[] = {{"--workspace", folder},
                       mount(folder, "/x", "ro"),
                       mount(folder + "/audit.jsonl", "/x", "ro"),
                       {"--allow-write", folder}};
  for (const Words& options : ask) {
    Outcome outcome = run_cell({"/bin/true"}, options, state.how);
    EXPECT_TRUE(ended_with(outcome, 125)) << options[1];
    EXPECT_NE(outcome.err.find("keeps its record"), std::string::npos) << outcome.err;
    EXPECT_EQ(lines(outcome.err).size(), 2u) << outcome.err;
    EXPECT_TRUE(ended_with(run_cell({"/bin/true"}, options, state.elsewhere()), 0)) << options[1];
  }
}

}  // namespace
}  // namespace caisson::boundary

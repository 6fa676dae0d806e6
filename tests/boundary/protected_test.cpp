// Claim: a read-only place inside a writable folder stays as it is, by whatever name it is called.
#include <errno.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

// A writable workspace with one folder that is mounted read-only over itself.
struct Workspace {
  TempFolder folder;
  Workspace() {
    make_folder(folder / "protected");
    make_folder(folder / "parent/protected");
    write_file(folder / "protected/keep", "as it was");
    write_file(folder / "parent/protected/keep", "as it was");
  }
  Words writable() const { return {"--workspace", folder.path()}; }
  Words guarded() const {
    return writable() + mount(folder / "protected", "/workspace/protected", "ro");
  }
  Words guarded_below() const {
    return writable() + mount(folder / "parent/protected", "/workspace/parent/protected", "ro");
  }
  bool untouched() const { return read_file(folder / "protected/keep") == "as it was"; }
};

TEST(Protected, T05_ANameThatIsMissingCannotBeMadeLater) {
  Workspace one;
  EXPECT_TRUE(refused_with(in_cell({"create", "/workspace/protected/late", "x"}, one.guarded()),
                           {EROFS, EACCES}));
  EXPECT_TRUE(refused(in_cell({"mkdir", "/workspace/protected/late"}, one.guarded())));
  EXPECT_TRUE(refused(in_cell({"symlink", "/x", "/workspace/protected/late"}, one.guarded())));
  EXPECT_FALSE(exists(one.folder / "protected/late"));
  EXPECT_TRUE(worked(in_cell({"create", "/workspace/protected/late", "x"}, one.writable())));
}

// What is to be protected and isn't there can't be protected by a mount: that is an error, and no
// cell without the protection.
TEST(Protected, T05_AMountSourceThatIsMissingStopsTheCell) {
  Workspace one;
  Words missing = mount(one.folder / "nowhere", "/workspace/nowhere", "ro");
  Outcome outcome =
      run_cell({"/probe/probe", "create", "/workspace/ran", "x"}, one.writable() + missing);
  EXPECT_TRUE(ended_with(outcome, 125));
  EXPECT_NE(outcome.err.find("nowhere"), std::string::npos) << outcome.err;
  EXPECT_FALSE(exists(one.folder / "ran"));
  EXPECT_TRUE(worked(in_cell({"create", "/workspace/ran", "x"}, one.writable())));
}

// The same command line, twice: what the first run leaves must not choose what the second one gets.
TEST(Protected, T03_ALinkThatOneRunMakesGrantsTheNextNothing) {
  TempFolder work, other;
  write_file(other / "secret", "of somebody else");
  const Words first{"--workspace", work.path()};
  EXPECT_TRUE(worked(in_cell({"symlink", other.path(), "/workspace/out"}, first)));
  for (const char* access : {"ro", "rw"}) {
    Outcome next =
        run_cell({"/bin/cat", "/out/secret"}, first + mount(work / "out", "/out", access));
    EXPECT_TRUE(ended_with(next, 125));
    EXPECT_EQ(next.out, "") << access;
    EXPECT_NE(next.err.find("a link in a folder that the cell may write"), std::string::npos);
  }
  // Control: where nothing is writable the link is its owner's, and is followed.
  Outcome followed = run_cell({"/bin/cat", "/out/secret"}, mount(work / "out", "/out", "ro"));
  EXPECT_EQ(followed.out, "of somebody else") << followed.err;
}

TEST(Protected, T06_EverySpellingOfTheNameIsTheSamePlace) {
  Workspace one;
  for (const char* name :
       {"/workspace//protected/keep", "/workspace/./protected/keep", "//workspace/protected/keep",
        "/workspace/protected/../protected/keep", "/workspace/parent/../protected//keep",
        "/proc/self/cwd/protected/keep", "/proc/self/root/workspace/protected/keep",
        "/proc/thread-self/root/workspace/protected/keep", "protected/keep"}) {
    EXPECT_TRUE(refused(in_cell({"write", name, "changed"}, one.guarded()))) << name;
    EXPECT_TRUE(one.untouched()) << name;
    EXPECT_TRUE(worked(in_cell({"open-write", name}, one.writable()))) << name;
  }
  // These name nothing on a filesystem that tells cases and bytes apart.
  for (const char* name : {"/workspace/PROTECTED/keep", "/workspace/protected/keep/",
                           "/workspace/protected/ke\xcc\x81"
                           "ep"})
    EXPECT_TRUE(refused(in_cell({"write", name, "changed"}, one.guarded()))) << name;
}

TEST(Protected, T06_TheTargetOfAMountMayBeSpeltInManyWays) {
  Workspace one;
  for (const char* target :
       {"/workspace/protected/", "/workspace//protected", "//workspace/protected",
        "/workspace/./protected", "/workspace/parent/../protected"}) {
    Outcome outcome = run_cell({"/probe/probe", "write", "/workspace/protected/keep", "changed"},
                               one.writable() + mount(one.folder / "protected", target, "ro"));
    // Either it is refused as a target, or it protects.
    if (outcome.code != 125) {
      EXPECT_TRUE(refused(parse_answer(outcome))) << target;
    }
    EXPECT_TRUE(one.untouched()) << target;
  }
}

TEST(Protected, T06_ALinkToTheSourceProtectsWhatItPointsTo) {
  Workspace one;
  ASSERT_TRUE(worked(on_host({"symlink", "protected", one.folder / "alias"})));
  Words by_alias = one.writable() + mount(one.folder / "alias", "/workspace/protected", "ro");
  EXPECT_TRUE(refused(in_cell({"write", "/workspace/protected/keep", "changed"}, by_alias)));
  EXPECT_TRUE(refused(in_cell({"write", "/workspace/alias/keep", "changed"}, by_alias)));
  EXPECT_TRUE(one.untouched());
}

TEST(Protected, T07_ItCannotBeRenamedExchangedOrRemoved) {
  Workspace one;
  const Words moves[] = {
      {"rename", "/workspace/protected", "/workspace/moved"},
      {"exchange", "/workspace/protected", "/workspace/parent"},
      {"rename", "/workspace/protected/keep", "/workspace/moved"},
      {"rename", "/workspace/parent/protected/keep", "/workspace/protected/keep"},
      {"unlink", "/workspace/protected/keep"},
      {"link", "/workspace/protected/keep", "/workspace/alias"}};
  for (const Words& move : moves) {
    EXPECT_TRUE(refused(in_cell(move, one.guarded()))) << move[0] << " " << move[1];
    EXPECT_TRUE(one.untouched()) << move[0] << " " << move[1];
  }
  for (const Words& move : moves) {
    Workspace fresh;
    EXPECT_TRUE(worked(in_cell(move, fresh.writable()))) << move[0] << " " << move[1];
  }
}

// A mount follows its folder when a parent is renamed; the name is then free for another file,
// which the host would find where it looks for the protected one.
TEST(Protected, T07_RenamingAParentDoesNotFreeTheName) {
  Workspace one;
  const Words attack = {"/bin/sh", "-c",
                        "mv /workspace/parent /workspace/elsewhere; "
                        "mkdir -p /workspace/parent/protected; "
                        "echo changed > /workspace/parent/protected/keep; true"};
  ASSERT_TRUE(ended_with(run_cell(attack, one.guarded_below()), 0));
  EXPECT_EQ(read_file(one.folder / "parent/protected/keep"), "as it was");
  ASSERT_TRUE(ended_with(run_cell(attack, one.writable()), 0));  // control: nothing protects it
  EXPECT_EQ(read_file(one.folder / "parent/protected/keep"), "changed\n");
}

TEST(Protected, T08_NoHardLinkLeadsFromOneMountToAnother) {
  TempFolder host;
  make_folder(host / "a");
  make_folder(host / "b");
  write_file(host / "a/file", "of a");
  Words both = mount(host / "a", "/a", "rw") + mount(host / "b", "/b", "rw");
  EXPECT_TRUE(refused_with(in_cell({"link", "/a/file", "/b/alias"}, both), {EXDEV, EPERM, EACCES}));
  EXPECT_TRUE(refused(in_cell({"rename", "/a/file", "/b/moved"}, both)));
  EXPECT_TRUE(
      worked(in_cell({"link", "/a/file", "/a/alias"}, both)));  // within one: an ordinary link
  EXPECT_TRUE(worked(on_host({"link", host / "a/file", host / "b/alias"})));
}

TEST(Protected, T08_NoHardLinkToASystemProgramCanBeMade) {
  TempFolder host;
  Words given = mount(host.path(), "/given", "rw");
  EXPECT_TRUE(refused(in_cell({"link", "/usr/bin/passwd", "/given/passwd"}, given)));
  EXPECT_TRUE(refused(in_cell({"link", "/usr/bin/passwd", "/tmp/passwd"}, given)));
  // Control: root may link it on the host, if the folder lies on the same filesystem; an ordinary
  // user is held by protected_hardlinks, and shows the call with a file of its own.
  write_file(host / "own", "x");
  EXPECT_TRUE(worked(on_host({"link", host / "own", host / "alias"})));
}

TEST(Protected, T09_ALinkThatAppearsLaterLeadsNowhere) {
  TempFolder host, elsewhere;
  write_file(elsewhere / "secret", "of the host");
  write_file(host / "open", "given");
  Process cell(exec_line({"/bin/sh", "-c",
                          "echo ready; read go; cat /given/late /given/friend /given/deep/secret"},
                         mount(host.path(), "/given", "ro")),
               {.keep_input_open = true});
  ASSERT_TRUE(cell.wait_for_output("ready"));
  ASSERT_TRUE(worked(on_host({"symlink", elsewhere / "secret", host / "late"})));
  ASSERT_TRUE(worked(on_host({"symlink", elsewhere.path(), host / "deep"})));
  ASSERT_TRUE(worked(on_host({"symlink", "open", host / "friend"})));
  cell.write_input("go\n");
  Outcome outcome = cell.finish();
  EXPECT_EQ(outcome.out.find("of the host"), std::string::npos);
  EXPECT_NE(outcome.out.find("given"), std::string::npos);  // what stays inside is followed
  EXPECT_EQ(on_host({"read", host / "late"}).detail, "of the host");
}

TEST(Protected, T09_ALinkMadeInsideShowsTheCellNotTheHost) {
  TempFolder host, elsewhere;
  write_file(elsewhere / "secret", "of the host");
  Words given = mount(host.path(), "/given", "rw");
  EXPECT_TRUE(worked(in_cell({"symlink", elsewhere / "secret", "/given/link"}, given)));
  EXPECT_TRUE(refused(in_cell({"read", "/given/link"}, given)));
  EXPECT_EQ(on_host({"read", host / "link"}).detail, "of the host");
}

}  // namespace
}  // namespace caisson::boundary

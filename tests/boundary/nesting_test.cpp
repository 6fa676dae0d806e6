// Claim: caisson in a cell works when that was granted, and says plainly why not when it wasn't.
#include <errno.h>

#include <filesystem>

#include "cell.h"

namespace caisson::boundary {
namespace {

Words inner_options() {
  std::string folder = std::filesystem::path(caisson_binary()).parent_path();
  return mount(folder, "/caisson", "ro") +
         Words{"--env", "HOME=/tmp", "--env", "XDG_STATE_HOME=/tmp/state"};
}

Words inner(const Words& command) {
  std::string name = std::filesystem::path(caisson_binary()).filename();
  return Words{"/caisson/" + name,
               "exec",
               "--mount",
               "/probe:/probe:ro",
               "--best-effort",
               "memory",
               "--best-effort",
               "pids",
               "--best-effort",
               "cpu",
               "--"} +
         command;
}

TEST(Nesting, T31_WithoutTheGrantTheInnerOneSaysWhyNot) {
  Outcome outcome = run_cell(inner({"/bin/true"}), inner_options());
  EXPECT_TRUE(ended_with(outcome, 125));
  EXPECT_NE(outcome.err.find("namespace"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--allow-nested"), std::string::npos) << outcome.err;
}

TEST(Nesting, T31_WithTheGrantItWorks) {
  Outcome outcome =
      run_cell(inner({"/bin/echo", "from within"}), inner_options() + Words{"--allow-nested"});
  EXPECT_TRUE(ended_with(outcome, 0));
  EXPECT_EQ(outcome.out, "from within\n");
}

TEST(Nesting, T31_TheInnerCellHoldsAsTheOuterDoes) {
  TempFolder host;
  write_file(host / "secret", "of the host");
  Words outer = inner_options() + Words{"--allow-nested"} + mount(host.path(), "/outer", "ro");
  auto within = [&](const Words& probe) {
    return parse_answer(run_cell(inner(Words{"/probe/probe"} + probe), outer));
  };
  EXPECT_TRUE(refused(within({"read", "/outer/secret"})));  // given to the outer one alone
  EXPECT_TRUE(refused(within({"unshare", "user"})));
  EXPECT_TRUE(refused(within({"kernel", "keyctl"})));
  EXPECT_TRUE(refused(within({"connect", "127.0.0.1", "1"})));
  EXPECT_EQ(within({"list", "/proc"}).error, 0);
  EXPECT_TRUE(worked(in_cell({"read", "/outer/secret"}, outer)));
}

TEST(Nesting, T31_TheGrantOpensNamespacesAndNothingOfTheHost) {
  TempFolder host;
  write_file(host / "secret", "of the host");
  Words grant{"--allow-nested"};
  EXPECT_TRUE(worked(in_cell({"unshare", "user"}, grant)));
  EXPECT_TRUE(worked(in_cell({"own-ns", "mount", "tmpfs", "/tmp"}, grant)));
  EXPECT_TRUE(refused(in_cell({"unshare", "user"})));
  // A user namespace brings capabilities over what it owns; the cell's own mounts stay locked.
  for (const char* path : {"/usr", "/", "/etc/ld.so.cache"}) {
    EXPECT_TRUE(refused(in_cell({"own-ns", "remount-rw", path}, grant))) << path;
    EXPECT_TRUE(refused(in_cell({"own-ns", "mount-setattr", path}, grant))) << path;
  }
  for (const char* path : {"/proc/kcore", "/proc/fs", "/proc/kallsyms"})
    EXPECT_TRUE(refused(in_cell({"own-ns", "umount", path}, grant))) << path;
  EXPECT_TRUE(refused(in_cell({"own-ns", "read", host / "secret"}, grant)));
  EXPECT_TRUE(refused(in_cell({"own-ns", "mknod", "/tmp/node", "c", "1", "3"}, grant)));
  EXPECT_TRUE(refused(in_cell({"own-ns", "handle", "/usr/bin/env"}, grant)));
  EXPECT_TRUE(refused(in_cell({"own-ns", "ptrace", "1"}, grant)));
  for (const char* path : {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
                           "/proc/sys/vm/drop_caches", "/proc/sys/kernel/hostname"}) {
    EXPECT_TRUE(refused(in_cell({"open-write", path}, grant))) << path;
    EXPECT_TRUE(refused(in_cell({"own-ns", "open-write", path}, grant))) << path;
  }
}

// A fresh procfs would show what the masks of the cell's own hide.
TEST(Nesting, T20_T31_AProcfsMadeInsideShowsNoMoreThanTheCells) {
  Outcome outcome =
      run_cell({"/probe/probe", "own-ns", "after-mount", "proc", "/tmp", "read", "/tmp/kallsyms"},
               {"--allow-nested"});
  Answer inside = parse_answer(outcome);
  EXPECT_TRUE(inside.error != 0 || inside.detail.empty()) << inside.detail.substr(0, 100);
}

}  // namespace
}  // namespace caisson::boundary

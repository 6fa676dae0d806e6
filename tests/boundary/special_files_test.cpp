// Claim: pipes, devices, huge and deep things in a workspace harm neither the cell's limits nor the
// host that looks at the workspace.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "cell.h"

namespace caisson::boundary {
namespace {

TEST(SpecialFiles, T13_APipeInTheWorkspaceHoldsNobodyUp) {
  TempFolder host;
  Words workspace{"--workspace", host.path()};
  ASSERT_TRUE(worked(in_cell({"mkfifo", "/workspace/pipe"}, workspace)));
  RunOptions soon{.deadline = 10s};
  EXPECT_TRUE(worked(in_cell({"list", "/workspace"}, workspace, soon)));
  // As a source it is mounted or refused, but not waited for.
  Outcome outcome = run_cell({"/bin/true"}, mount(host / "pipe", "/pipe", "ro"), soon);
  EXPECT_FALSE(outcome.late);
  // Control: who reads it without care does wait.
  EXPECT_TRUE(run({"/bin/cat", host / "pipe"}, {.deadline = 300ms}).late);
}

// A folder with this file is taken for a virtual environment and looked into.
TEST(SpecialFiles, T13_APipeInPlaceOfASettingsFileHoldsNobodyUp) {
  TempFolder host;
  make_folder(host / "venv/bin");
  copy_program("/bin/true", host / "venv/bin/python");
  ASSERT_EQ(::mkfifo((host / "venv/pyvenv.cfg").c_str(), 0644), 0);
  RunOptions soon{.deadline = 10s};
  EXPECT_FALSE(run_cell({host / "venv/bin/python"}, {}, soon).late);
  EXPECT_FALSE(run_cell({"/bin/true"}, {"--policy", host / "venv/pyvenv.cfg"}, soon).late);
}

bool waits(const Process& writer) {
  std::ifstream file("/proc/" + std::to_string(writer.pid()) + "/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.find(") S ") != std::string::npos;
}

// A device or a pipe does something as soon as it is opened, and it was a cell that put it there.
TEST(SpecialFiles, T13_WhatIsNoFileIsNotOpenedInPlaceOfOne) {
  TempFolder host;
  make_folder(host / "venv/bin");
  copy_program("/bin/true", host / "venv/bin/python");
  std::string pipe = host / "pipe", config = host / "venv/pyvenv.cfg";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0644), 0);
  RunOptions soon{.deadline = 10s};
  auto is_left_alone = [&](const Words& command, const Words& options) {
    Process writer({"/bin/sh", "-c", "echo whole >" + pipe}, soon);
    EXPECT_TRUE(eventually([&] { return waits(writer); }));
    run_cell(command, options, soon);
    return waits(writer) && run({"/bin/cat", pipe}, {.deadline = 5s}).out == "whole\n";
  };
  ASSERT_EQ(::symlink(pipe.c_str(), config.c_str()), 0);
  EXPECT_TRUE(is_left_alone({host / "venv/bin/python"}, {}));
  EXPECT_TRUE(is_left_alone({"/bin/true"}, {"--policy", config}));
  // Control: it is gone when somebody has opened the pipe.
  Process writer({"/bin/sh", "-c", "echo whole >" + pipe}, soon);
  EXPECT_TRUE(eventually([&] { return waits(writer); }));
  run({"/bin/sh", "-c", "exec <" + pipe});
  EXPECT_FALSE(writer.finish().late);
}

TEST(SpecialFiles, T13_NoDeviceCanBeMade) {
  TempFolder host;
  Words given = mount(host.path(), "/given", "rw");
  for (const char* folder : {"/given", "/tmp", "/dev/shm"}) {
    for (const char* kind : {"c", "b"}) {
      Words node{"mknod", std::string(folder) + "/node", kind, "1", "3"};
      EXPECT_TRUE(refused_with(in_cell(node, given), {EPERM, EACCES})) << folder;
    }
  }
  // Control: root can on the host. An ordinary user can't, and shows mknod(2) with a pipe.
  if (as_root()) {
    EXPECT_TRUE(worked(on_host({"mknod", host / "node", "c", "1", "3"})));
  }
  EXPECT_TRUE(worked(in_cell({"mkfifo", "/given/pipe"}, given)));
}

TEST(SpecialFiles, T13_ADeviceInAMountedFolderIsDead) {
  TempFolder host;
  Words given = mount(host.path(), "/given", "rw");
  if (as_root()) {
    ASSERT_TRUE(worked(on_host({"mknod", host / "null", "c", "1", "3"})));
    EXPECT_TRUE(refused_with(in_cell({"open-write", "/given/null"}, given), {EACCES}));
    EXPECT_TRUE(worked(on_host({"open-write", host / "null"})));
  }
  // An ordinary user can make no device to try: the flag of the mount says the same.
  Answer table = in_cell({"read", "/proc/self/mountinfo"}, given);
  size_t at = table.detail.find(" /given ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_NE(table.detail.substr(at, 60).find("nodev"), std::string::npos);
}

TEST(SpecialFiles, T14_AFileCannotGrowBeyondItsLimit) {
  TempFolder host;
  Words given = mount(host.path(), "/given", "rw");
  for (const char* file : {"/tmp/sparse", "/given/sparse", "/dev/shm/sparse"}) {
    Words sparse{"sparse", file, "2M"};
    EXPECT_TRUE(refused_with(in_cell(sparse, given + Words{"--fsize", "1M"}), {EFBIG})) << file;
    EXPECT_TRUE(worked(in_cell(sparse, given + Words{"--fsize", "4M"}))) << file;
  }
  EXPECT_TRUE(refused_with(in_cell({"fill", "/given/full", "2M"}, given + Words{"--fsize", "1M"}),
                           {EFBIG}));
}

TEST(SpecialFiles, T14_ThePrivateSpaceIsBoundedAsAWhole) {
  const Words fill{"/bin/sh", "-c",
                   "/probe/probe fill /tmp/full 16M; /probe/probe fill /dev/shm/full 16M"};
  std::vector<Answer> small = parse_answers(run_cell(fill, {"--tmp-size", "4M"}));
  ASSERT_EQ(small.size(), 2u);
  EXPECT_TRUE(refused_with(small[0], {ENOSPC}));
  EXPECT_TRUE(refused_with(small[1], {ENOSPC}));
  // The block that the last write began is rounded up.
  EXPECT_LE(std::stol(small[0].detail) + std::stol(small[1].detail), (4l << 20) + 65536);
  std::vector<Answer> large = parse_answers(run_cell(fill, {"--tmp-size", "64M"}));
  ASSERT_EQ(large.size(), 2u);
  EXPECT_TRUE(worked(large[0]));
  EXPECT_TRUE(worked(large[1]));
}

TEST(SpecialFiles, T14_EmptyFilesRunOutToo) {
  Answer small = in_cell({"inodes", "/tmp", "200000"}, {"--tmp-size", "4M"});
  EXPECT_TRUE(refused_with(small, {ENOSPC}));
  EXPECT_LT(std::stol(small.detail), 100000);
  EXPECT_TRUE(worked(in_cell({"inodes", "/tmp", "500"}, {"--tmp-size", "4M"})));
}

TEST(SpecialFiles, T14_ATreeDeeperThanAPathIsNoTrouble) {
  TempFolder host;
  Words workspace{"--workspace", host.path()};
  ASSERT_TRUE(worked(in_cell({"deep", "/workspace", "60"}, workspace)));
  EXPECT_TRUE(worked(in_cell({"list", "/workspace"}, workspace, {.deadline = 10s})));
  EXPECT_TRUE(ended_with(run_cell({"/bin/true"}, {}, {.folder = host.path(), .deadline = 10s}), 0));
  // Control: the host can make and remove the same; it is as deep as it says.
  EXPECT_TRUE(worked(on_host({"undeep", host.path()})));
  EXPECT_TRUE(worked(on_host({"deep", host.path(), "60"})));
  EXPECT_TRUE(worked(on_host({"undeep", host.path()})));
}

}  // namespace
}  // namespace caisson::boundary

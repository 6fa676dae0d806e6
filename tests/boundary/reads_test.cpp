// Claim: a cell reads what it was given and the system's own folders, and nothing else of the host.
#include <algorithm>

#include "cell.h"

namespace caisson::boundary {
namespace {

TEST(Reads, T01_AFileOfTheHostIsNotThere) {
  TempFolder host;
  write_file(host / "secret", "of the host");
  EXPECT_TRUE(refused(in_cell({"read", host / "secret"})));
  EXPECT_TRUE(refused(in_cell({"stat", host / "secret"})));
  EXPECT_TRUE(refused(in_cell({"list", host.path()})));
  // Control: the probe reads it on the host, and in a cell that was granted it.
  EXPECT_EQ(on_host({"read", host / "secret"}).detail, "of the host");
  EXPECT_EQ(in_cell({"read", "/granted/secret"}, mount(host.path(), "/granted", "ro")).detail,
            "of the host");
}

TEST(Reads, T01_DotDotStopsAtTheRootOfTheCell) {
  TempFolder host;
  write_file(host / "secret", "of the host");
  const std::string up = "/../../../../../../../../../..";
  for (const std::string& start :
       {std::string(), std::string("/probe"), std::string("/tmp"), std::string("/proc/self/cwd"),
        std::string("/proc/self/root"), std::string("/usr/lib"), std::string("/dev/fd")}) {
    EXPECT_TRUE(refused(in_cell({"read", start + up + (host / "secret")}))) << start;
  }
  EXPECT_TRUE(worked(on_host({"read", "/usr/lib" + up + (host / "secret")})));
}

TEST(Reads, T01_ASiblingOfAMountedFolderIsOutOfReach) {
  TempFolder host;
  make_folder(host / "given");
  write_file(host / "given/mine", "given");
  write_file(host / "secret", "of the host");
  Words given = mount(host / "given", "/given", "rw");
  EXPECT_TRUE(worked(in_cell({"read", "/given/mine"}, given)));
  EXPECT_TRUE(refused(in_cell({"read", "/given/../secret"}, given)));
  EXPECT_TRUE(worked(on_host({"read", host / "given/../secret"})));
}

TEST(Reads, T01_HomeFoldersAreAbsent) {
  const std::string mark = random_word();
  make_folder(home_folder() + "/.ssh");
  write_file(home_folder() + "/.ssh/" + mark, "a key");
  EXPECT_TRUE(refused(in_cell({"read", home_folder() + "/.ssh/" + mark})));
  EXPECT_TRUE(worked(on_host({"read", home_folder() + "/.ssh/" + mark})));
  // The homes that every machine has: absent, or empty.
  for (const char* home : {"/root", "/home"}) {
    Answer inside = in_cell({"list", home});
    EXPECT_TRUE(inside.error != 0 || inside.detail.empty()) << home << ": " << inside.detail;
  }
}

TEST(Reads, T01_FoldersThatAProgramHasNoUseForAreAbsentOrEmpty) {
  for (const char* path : {"/boot", "/media", "/mnt", "/run", "/srv", "/sys", "/lost+found"}) {
    Answer inside = in_cell({"list", path});
    EXPECT_TRUE(inside.error != 0 || inside.detail.empty()) << path << ": " << inside.detail;
  }
  for (const char* path : {"/var/lib", "/var/log", "/var/spool", "/var/cache"})
    EXPECT_TRUE(refused(in_cell({"list", path}))) << path;
  EXPECT_TRUE(worked(on_host({"list", "/sys"})));
  EXPECT_TRUE(worked(on_host({"list", "/var/lib"})));
}

TEST(Reads, T01_TheTemporaryFolderOfTheHostIsNotTheCells) {
  TempFolder host;
  EXPECT_EQ(in_cell({"list", "/tmp"}).detail, "");
  EXPECT_NE(on_host({"list", "/tmp"}).detail, "");
  EXPECT_EQ(in_cell({"list", "/dev/shm"}).detail, "");
}

TEST(Reads, T01_EtcHasNoSecretsOfTheHost) {
  for (const char* name : {"shadow", "gshadow", "shadow-", "sudoers", "ssh", "ssl/private",
                           "security", "machine-id", "hostname", "fstab", "crontab", "npmrc",
                           "pip.conf", "gitconfig", "environment", "profile.d"})
    EXPECT_TRUE(refused(in_cell({"stat", std::string("/etc/") + name}))) << name;
  // Control: `stat` needs no right on the file itself, so this holds for an ordinary user too.
  EXPECT_TRUE(worked(on_host({"stat", "/etc/shadow"})));
  EXPECT_TRUE(worked(on_host({"stat", "/etc/fstab"})));
  if (as_root()) {
    EXPECT_TRUE(worked(on_host({"read", "/etc/shadow"})));
  }
}

TEST(Reads, T01_EtcNamesNoUserOfTheHostButTheCaller) {
  Answer inside = in_cell({"read", "/etc/passwd"});
  ASSERT_TRUE(worked(inside));
  EXPECT_LE(lines(inside.detail).size(), 3u) << inside.detail;
  EXPECT_GT(lines(on_host({"read", "/etc/passwd"}).detail).size(), 3u);
}

TEST(Reads, T01_TheSystemIsReadOnly) {
  TempFolder host;
  for (const char* folder : {"/", "/usr", "/usr/bin", "/etc", "/proc", "/dev", "/var", "/run"})
    EXPECT_TRUE(refused(in_cell({"create", std::string(folder) + "/planted", "x"}))) << folder;
  for (const char* file : {"/etc/passwd", "/usr/bin/env", "/etc/ld.so.cache", "/etc/hosts"})
    EXPECT_TRUE(refused(in_cell({"open-write", file}))) << file;
  EXPECT_TRUE(refused(in_cell({"chmod", "/usr/bin/env", "777"})));
  // Control: the same call works where the cell may write.
  EXPECT_TRUE(worked(in_cell({"create", "/tmp/planted", "x"})));
  EXPECT_TRUE(worked(in_cell({"create", "/w/planted", "x"}, mount(host.path(), "/w", "rw"))));
  EXPECT_EQ(read_file(host / "planted"), "x");
}

TEST(Reads, T01_AReadOnlyMountIsReadOnly) {
  TempFolder host;
  write_file(host / "file", "before");
  Words given = mount(host.path(), "/given", "ro");
  EXPECT_TRUE(refused(in_cell({"create", "/given/new", "x"}, given)));
  EXPECT_TRUE(refused(in_cell({"write", "/given/file", "behind"}, given)));
  EXPECT_TRUE(refused(in_cell({"unlink", "/given/file"}, given)));
  EXPECT_TRUE(refused(in_cell({"chmod", "/given/file", "777"}, given)));
  EXPECT_EQ(read_file(host / "file"), "before");
  EXPECT_TRUE(worked(in_cell({"write", "/w/file", "behind"}, mount(host.path(), "/w", "rw"))));
  EXPECT_EQ(read_file(host / "file"), "behind");
}

// The kernel's own folders are no files: what the cell has of them is made for it.
TEST(Reads, T01_T22_NoFolderOfTheKernelCanBeMounted) {
  TempFolder host;
  ASSERT_TRUE(worked(on_host({"symlink", "/proc/sys", host / "link"})));
  for (const std::string& source :
       {std::string("/proc"), std::string("/proc/sys"), std::string("/sys"),
        std::string("/sys/fs/cgroup"), std::string("/proc/self/root/proc/sys"), host / "link"}) {
    for (const char* access : {"ro", "rw"})
      EXPECT_TRUE(ended_with(run_cell({"/bin/true"}, mount(source, "/kernel", access)), 125))
          << source;
  }
  EXPECT_TRUE(ended_with(run_cell({"/bin/true"}, mount(host.path(), "/kernel", "ro")), 0));
}

TEST(Reads, T01_TheCallersFolderIsReadOnly) {
  TempFolder host;
  write_file(host / "file", "of the project");
  RunOptions here{.folder = host.path()};
  EXPECT_EQ(in_cell({"read", "file"}, {}, here).detail, "of the project");
  EXPECT_TRUE(refused(in_cell({"create", "new", "x"}, {}, here)));
  EXPECT_TRUE(worked(on_host({"create", "new", "x"}, here)));
}

}  // namespace
}  // namespace caisson::boundary

// Claim: the program is the caller without any right: no capability in any set, no way to get one.
#include <errno.h>
#include <unistd.h>

#include <sstream>

#include "cell.h"

namespace caisson::boundary {
namespace {

std::string field(const std::string& status, const std::string& name) {
  for (const std::string& line : lines(status))
    if (line.starts_with(name + ":"))
      return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  return "(absent)";
}

TEST(Identity, T30_EveryCapabilitySetIsEmpty) {
  std::string inside = in_cell({"read", "/proc/self/status"}).detail;
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
    EXPECT_EQ(field(inside, set), "0000000000000000") << set;
  // Control: the bounding set of the host is not empty for anybody, the others not for root.
  std::string outside = on_host({"read", "/proc/self/status"}).detail;
  EXPECT_NE(field(outside, "CapBnd"), "0000000000000000");
  if (as_root()) {
    EXPECT_NE(field(outside, "CapEff"), "0000000000000000");
  }
}

TEST(Identity, T30_NoNewPrivilegesAndAFilterAreOn) {
  std::string inside = in_cell({"read", "/proc/self/status"}).detail;
  EXPECT_EQ(field(inside, "NoNewPrivs"), "1");
  EXPECT_EQ(field(inside, "Seccomp"), "2");
  std::string outside = on_host({"read", "/proc/self/status"}).detail;
  EXPECT_EQ(field(outside, "NoNewPrivs"), "0");
}

// Its filter would be inherited, so pid 1 puts it on when the program has been executed, and for a
// moment both run: the shell waits for it, but not for long.
TEST(Identity, T39_PidOneIsFilteredToo) {
  Outcome outcome =
      run_cell({"/bin/sh", "-c",
                "i=0; until grep -q 'Seccomp:.2' /proc/1/status || [ $i -gt 300 ]; do "
                "i=$((i + 1)); done; exec /probe/probe read /proc/1/status"});
  std::string inside = parse_answer(outcome).detail;
  EXPECT_EQ(field(inside, "NoNewPrivs"), "1");
  EXPECT_EQ(field(inside, "Seccomp"), "2");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
    EXPECT_EQ(field(inside, set), "0000000000000000") << set;
  EXPECT_EQ(field(on_host({"read", "/proc/1/status"}).detail, "NoNewPrivs"), "0");
}

TEST(Identity, T30_TheIdsAreTheCallersAndNoGroupComesAlong) {
  std::string uid = std::to_string(::geteuid()), gid = std::to_string(::getegid());
  std::string inside = in_cell({"ids"}).detail;
  EXPECT_TRUE(inside.starts_with("uid=" + uid + " euid=" + uid + " suid=" + uid + " gid=" + gid +
                                 " egid=" + gid + " sgid=" + gid))
      << inside;
  for (const char* map : {"/proc/self/uid_map", "/proc/self/gid_map"}) {
    std::istringstream words(in_cell({"read", map}).detail);
    unsigned long in = 1, out = 1, count = 0, more = 0;
    words >> in >> out >> count;
    EXPECT_EQ(std::to_string(in), map[13] == 'u' ? uid : gid) << map;
    EXPECT_EQ(count, 1u) << map;
    EXPECT_FALSE(words >> more) << map << ": one id and no other";
    EXPECT_NE(on_host({"read", map}).detail, in_cell({"read", map}).detail);  // the host's has all
  }
}

// uid 0 of the host owns most of the machine, capability or not; a cell of root's is somebody else.
TEST(Identity, T30_ACellOfRootIsNobodyOnTheHost) {
  const std::string marker = random_word();
  Process cell(exec_line({"/probe/probe", "wait", "30", marker}));
  ASSERT_TRUE(cell.wait_for_output("ready"));
  bool seen = false;
  for (pid_t pid : processes_with(marker)) {
    std::string folder = "/proc/" + std::to_string(pid);
    if (!read_file(folder + "/cmdline").starts_with("/probe/probe")) continue;
    seen = true;
    std::string ids = field(read_file(folder + "/status"), "Uid");
    if (as_root()) {
      EXPECT_FALSE(ids.starts_with("0\t")) << ids;
    } else {
      EXPECT_TRUE(ids.starts_with(std::to_string(::geteuid()) + "\t")) << ids;
    }
  }
  EXPECT_TRUE(seen) << "control: the program's process can be seen from the host";
}

// Where a mount's filesystem knows no mapped ids, root's cell is root's uid after all: told in the
// result, and held by the read-only /proc and the missing capabilities. Only root can make such a
// filesystem, and does so in a mount namespace that goes with the command.
TEST(Identity, T22_T30_WithoutMappedIdsTheKernelsSwitchesStayShut) {
  TempFolder host;
  auto on_ramfs = [&](const Words& command, const Words& options) {
    Words words{"/usr/bin/unshare",
                "--mount",
                "/bin/sh",
                "-c",
                "mount -t ramfs none " + host.path() + " && exec \"$@\"",
                "sh"};
    return run(words + exec_line(command, mount(host.path(), "/unmapped", "ro") + options));
  };
  auto answer = [&](const Words& probe) {
    return parse_answer(on_ramfs(Words{"/probe/probe"} + probe, {}));
  };
  if (!as_root()) {
    EXPECT_TRUE(refused(in_cell({"open-write", "/proc/sys/kernel/core_pattern"})));
    return;
  }
  for (const char* path : {"/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches",
                           "/proc/sys/kernel/modprobe", "/proc/self/oom_score_adj"})
    EXPECT_TRUE(refused(answer({"open-write", path}))) << path;
  for (const char* path : {"/proc/1/environ", "/proc/1/root/etc/shadow", "/proc/1/mem"})
    EXPECT_TRUE(refused(answer({"read", path}))) << path;
  EXPECT_TRUE(refused(answer({"become", "setuid"})));
  EXPECT_EQ(on_ramfs({"/bin/true"}, {"--json-output"}).out.find("\"degradations\":[]"),
            std::string::npos);
  EXPECT_TRUE(worked(on_host({"open-write", "/proc/sys/kernel/core_pattern"})));
}

TEST(Identity, T30_NobodyElseCanBeBecome) {
  for (const char* way : {"setuid", "setgid", "setgroups"}) {
    EXPECT_TRUE(refused(in_cell({"become", way}))) << way;
    // Control: root can on the host; an ordinary user can't anywhere.
    if (as_root()) {
      EXPECT_TRUE(worked(on_host({"become", way}))) << way;
    }
  }
}

TEST(Identity, T30_NoCapabilityCanBeRaised) {
  for (int capability : {0, 1, 2, 7, 12, 19, 21, 38})
    EXPECT_TRUE(refused(in_cell({"capset", std::to_string(capability)}))) << capability;
  EXPECT_TRUE(worked(in_own_namespaces({"capset", "21"})));
}

TEST(Identity, T30_OwnershipCannotBeGivenAway) {
  TempFolder host;
  write_file(host / "file", "x");
  Words given = mount(host.path(), "/given", "rw");
  EXPECT_TRUE(refused(in_cell({"chown", "/given/file", "12345"}, given)));
  EXPECT_TRUE(worked(in_cell({"chown", "/given/file", std::to_string(::geteuid())}, given)));
  if (as_root()) {
    EXPECT_TRUE(worked(on_host({"chown", host / "file", "12345"})));
  }
}

// Root outside is no root inside: without CAP_DAC_OVERRIDE the modes of files hold.
TEST(Identity, T30_RootInACellIsHeldByFileModes) {
  TempFolder host;
  write_file(host / "closed", "x");
  ASSERT_TRUE(worked(on_host({"chmod", host / "closed", "0000"})));
  EXPECT_TRUE(refused(in_cell({"read", "/given/closed"}, mount(host.path(), "/given", "ro"))));
  if (as_root()) {
    EXPECT_TRUE(worked(on_host({"read", host / "closed"})));
  }
  ASSERT_TRUE(worked(on_host({"chmod", host / "closed", "0644"})));
  EXPECT_TRUE(worked(in_cell({"read", "/given/closed"}, mount(host.path(), "/given", "ro"))));
}

TEST(Identity, T41_T44_TheProgramHasASessionOfItsOwn) {
  std::string inside = in_cell({"process"}).detail;
  std::string pid = inside.substr(4, inside.find(' ') - 4);
  EXPECT_NE(inside.find("pid=" + pid + " ppid=1 pgid=" + pid + " sid=" + pid), std::string::npos)
      << inside;
  EXPECT_NE(inside.find("nnp=1"), std::string::npos) << inside;
}

TEST(Identity, T65_TheNameOfTheHostIsNotTold) {
  std::string host = on_host({"uname"}).detail, inside = in_cell({"uname"}).detail;
  ASSERT_FALSE(host.empty());
  EXPECT_NE(inside, host);
  EXPECT_NE(in_cell({"read", "/proc/sys/kernel/hostname"}).detail, host + "\n");
  EXPECT_EQ(in_cell({"uname"}, {"--allow-network"}).detail.find(host), std::string::npos);
}

}  // namespace
}  // namespace caisson::boundary

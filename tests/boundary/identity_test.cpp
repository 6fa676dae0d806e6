// Claim: the program is the caller without any right: no capability in any set, no way to get one.
#include <errno.h>
#include <unistd.h>

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

TEST(Identity, T39_PidOneIsFilteredToo) {
  std::string inside = in_cell({"read", "/proc/1/status"}).detail;
  EXPECT_EQ(field(inside, "NoNewPrivs"), "1");
  EXPECT_EQ(field(inside, "Seccomp"), "2");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
    EXPECT_EQ(field(inside, set), "0000000000000000") << set;
}

TEST(Identity, T30_TheIdsAreTheCallersAndNoGroupComesAlong) {
  std::string uid = std::to_string(::geteuid()), gid = std::to_string(::getegid());
  std::string inside = in_cell({"ids"}).detail;
  EXPECT_TRUE(inside.starts_with("uid=" + uid + " euid=" + uid + " suid=" + uid + " gid=" + gid +
                                 " egid=" + gid + " sgid=" + gid))
      << inside;
  std::string map = in_cell({"read", "/proc/self/uid_map"}).detail;
  std::string words;
  for (char c : map)
    words += (c == ' ' && !words.empty() && words.back() == ' ') ? "" : std::string(1, c);
  EXPECT_NE(words.find(uid + " " + uid + " 1"), std::string::npos) << map;
  EXPECT_NE(on_host({"read", "/proc/self/uid_map"}).detail, map);  // the host's maps all ids
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

// Claim: seven namespaces of its own, and mounts that carry their flags.
#include <errno.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

TEST(Namespaces, T19_T31_EachOfTheSevenIsTheCellsOwn) {
  for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    Answer inside = in_cell({"ns", "self", kind}), outside = on_host({"ns", "self", kind});
    ASSERT_TRUE(worked(inside)) << kind;
    ASSERT_TRUE(worked(outside)) << kind;
    EXPECT_NE(inside.detail, outside.detail) << kind;
    EXPECT_EQ(on_host({"ns", "self", kind}).detail, outside.detail)
        << kind;  // control: it is stable
  }
}

TEST(Namespaces, T45_TheHostNetworkIsAGrantAndNothingElseComesWithIt) {
  for (const char* kind : {"user", "mnt", "pid", "ipc", "uts", "cgroup"})
    EXPECT_NE(in_cell({"ns", "self", kind}, {"--allow-network"}).detail,
              on_host({"ns", "self", kind}).detail)
        << kind;
  EXPECT_EQ(in_cell({"ns", "self", "net"}, {"--allow-network"}).detail,
            on_host({"ns", "self", "net"}).detail);
}

TEST(Namespaces, T33_TheControlGroupsOfTheHostAreNotShown) {
  std::string inside = in_cell({"read", "/proc/self/cgroup"}, {"--memory", "64M"}).detail;
  for (const std::string& line : lines(inside)) EXPECT_TRUE(line.ends_with(":/")) << line;
  EXPECT_TRUE(worked(on_host({"read", "/proc/self/cgroup"})));
}

struct MountLine {
  std::string target, options, type, all;
  bool has(const std::string& word) const {
    return ("," + options + ",").find("," + word + ",") != std::string::npos;
  }
};

std::vector<MountLine> mount_table(const Words& options = {}) {
  std::vector<MountLine> table;
  for (const std::string& line : lines(in_cell({"read", "/proc/self/mountinfo"}, options).detail)) {
    std::vector<std::string> words;
    for (size_t at = 0; at <= line.size();) {
      size_t end = std::min(line.find(' ', at), line.size());
      words.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    size_t dash = 6;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 1 < words.size()) table.push_back({words[4], words[5], words[dash + 1], line});
  }
  return table;
}

TEST(Namespaces, T08_T30_EveryMountIsNosuid) {
  TempFolder host;
  std::vector<MountLine> table = mount_table(mount(host.path(), "/given", "rw"));
  ASSERT_GT(table.size(), 5u);
  for (const MountLine& one : table) EXPECT_TRUE(one.has("nosuid")) << one.all;
}

TEST(Namespaces, T13_EveryMountIsNodevButTheDevicesThemselves) {
  TempFolder host;
  for (const MountLine& one : mount_table(mount(host.path(), "/given", "rw"))) {
    bool is_device = one.target == "/dev/null" || one.target == "/dev/zero" ||
                     one.target == "/dev/full" || one.target == "/dev/random" ||
                     one.target == "/dev/urandom" || one.target == "/dev/tty" ||
                     one.target == "/dev/pts" || one.target.starts_with("/proc/");
    if (!is_device) {
      EXPECT_TRUE(one.has("nodev")) << one.all;
    }
  }
}

TEST(Namespaces, T01_NothingOfTheHostIsWritableButWhatWasGranted) {
  TempFolder host;
  Words grants = mount(host.path(), "/given", "rw") + mount(host.path(), "/read", "ro");
  bool seen = false;
  for (const MountLine& one : mount_table(grants)) {
    if (one.has("ro")) continue;
    seen |= one.target == "/given";
    bool own = one.target == "/tmp" || one.target == "/dev/shm" || one.target == "/dev/pts";
    bool device = one.type == "devtmpfs" || one.target.starts_with("/dev/");
    EXPECT_TRUE(own || device || one.target == "/given") << one.all;
  }
  EXPECT_TRUE(seen) << "control: a grant shows as rw";
}

TEST(Namespaces, T32_NoMountIsSharedWithTheHost) {
  for (const MountLine& one : mount_table()) {
    EXPECT_EQ(one.all.find(" shared:"), std::string::npos) << one.all;
    EXPECT_EQ(one.all.find(" master:"), std::string::npos) << one.all;
  }
}

TEST(Namespaces, T21_DevHasNothingButTheUsualNames) {
  for (const std::string& name : lines(in_cell({"list", "/dev"}).detail)) {
    bool known = false;
    for (const char* word : {"null", "zero", "full", "random", "urandom", "tty", "pts", "shm", "fd",
                             "stdin", "stdout", "stderr", "ptmx"})
      known |= name == word;
    EXPECT_TRUE(known) << name;
  }
  for (const char* device : {"/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/vda",
                             "/dev/console", "/dev/net/tun", "/dev/loop-control", "/dev/mqueue"})
    EXPECT_TRUE(refused_with(in_cell({"stat", device}), {ENOENT})) << device;
  EXPECT_TRUE(worked(on_host({"stat", "/dev/console"})));
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full"})
    EXPECT_TRUE(worked(in_cell({"open-write", device}))) << device;
}

}  // namespace
}  // namespace caisson::boundary

// Claim: what one kernel has for all is neither used up past a cell's limits nor marked for longer
// than the cell lives, by calls that programs need.
#include <errno.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

// A tmpfs keeps ACLs in memory that no limit counts.
TEST(SharedKernel, T55_LargeAclsAreNoWayAroundTheLimits) {
  for (const char* entries : {"124", "500", "8190"})
    for (const char* place : {"/tmp", "/dev/shm"})
      EXPECT_TRUE(refused_with(in_cell({"acls", place, "1", entries}), {ENOSPC})) << entries;
  EXPECT_TRUE(refused_with(in_cell({"acls", "/tmp", "1", "8190"}, {"--allow-nested"}), {ENOSPC}));
  // Control: those that people make are taken, and a tmpfs of the host takes large ones.
  EXPECT_TRUE(worked(in_cell({"acls", "/tmp", "1", "123"})));
  TempFolder host;
  EXPECT_TRUE(worked(
      in_own_namespaces({"after-mount", "tmpfs", host.path(), "acls", host.path(), "1", "8190"})));
}

TEST(SharedKernel, T55_AttributesAreSmallByEveryCall) {
  TempFolder host;
  write_file(host / "file", "x");
  Words given = mount(host.path(), "/given", "rw");
  for (const char* call : {"setxattr", "lsetxattr", "fsetxattr"}) {
    EXPECT_TRUE(refused_with(in_cell({"attribute", call, "/given/file", "992"}, given), {ENOSPC}));
    EXPECT_TRUE(worked(in_cell({"attribute", call, "/given/file", "991"}, given))) << call;
    EXPECT_TRUE(worked(on_host({"attribute", call, host / "file", "1500"}))) << call;
  }
  EXPECT_TRUE(
      refused_with(in_cell({"attribute", "setxattrat", "/given/file", "1"}, given), {ENOSYS}));
}

TEST(SharedKernel, T55_NoHugePagesOfTheHost) {
  EXPECT_TRUE(refused_with(in_cell({"huge-pages", "mmap"}), {ENOMEM}));
  EXPECT_TRUE(refused_with(in_cell({"huge-pages", "memfd_create"}), {EINVAL}));
  EXPECT_TRUE(refused_with(in_cell({"huge-pages", "shmget"}), {ENOMEM}));
  EXPECT_TRUE(worked(on_host({"huge-pages", "mmap"})));
  EXPECT_TRUE(worked(on_host({"huge-pages", "memfd_create"})));
  // It takes CAP_IPC_LOCK, or a group that the host names.
  if (as_root()) {
    EXPECT_TRUE(worked(on_host({"huge-pages", "shmget"})));
  }
}

// The memory for translated filters is the host's, and its bound is one for all.
TEST(SharedKernel, T55_NoSocketHasAFilter) {
  for (const char* option : {"26", "50", "51", "52"})  // SO_ATTACH_FILTER, _BPF, _REUSEPORT_…
    EXPECT_TRUE(refused_with(in_cell({"socket-filter", option}), {EPERM})) << option;
  EXPECT_TRUE(worked(on_host({"socket-filter", "26"})));
  EXPECT_TRUE(worked(on_host({"socket-filter", "51"})));
}

// None of these needs more than a descriptor for reading. Numbers with a bit above the 32 that the
// kernel reads are the same requests.
TEST(SharedKernel, T35_NoKeyMarkOrSnapshotOfAFilesystemCanBeMade) {
  TempFolder host;
  write_file(host / "file", "x");
  for (const char* access : {"ro", "rw"}) {
    Words given = mount(host.path(), "/given", access);
    for (const char* number :
         {"0xc0506617", "0xc0406618", "0xc0406619", "0x800c6613",  // fscrypt: keys, a policy
          "0x40806685",                                            // verity
          "0x5000940e", "0x50009401", "0x4008941a",                // btrfs: subvolumes
          "0x1", "0x1c0406618", "0x7fffffffc0506617"})             // FIBMAP; upper bits
      for (const char* path : {"/given", "/given/file"})
        EXPECT_TRUE(refused_with(in_cell({"ioctl", path, number}, given), {ENOTTY}))
            << path << " " << number;
    EXPECT_TRUE(worked(in_cell({"ioctl", "/given/file", "0x2"}, given)));  // FIGETBSZ
  }
  // Control: every filesystem hears FIBMAP, if only to say that one may not.
  EXPECT_NE(on_host({"ioctl", host / "file", "0x1"}).error, ENOTTY);
}

// open(2) on the host waits for the holder of a lease, and F_NOTIFY is inotify by another name.
TEST(SharedKernel, T35_NoLeaseMakesTheHostWait) {
  TempFolder host;
  write_file(host / "file", "x");
  for (const char* access : {"ro", "rw"}) {
    Words given = mount(host.path(), "/given", access);
    EXPECT_TRUE(refused_with(in_cell({"lease", "/given/file"}, given), {EINVAL})) << access;
    EXPECT_TRUE(refused_with(in_cell({"notify", "/given"}, given), {EINVAL})) << access;
  }
  EXPECT_TRUE(worked(on_host({"lease", host / "file"})));
  EXPECT_TRUE(worked(on_host({"notify", host.path()})));
}

}  // namespace
}  // namespace caisson::boundary

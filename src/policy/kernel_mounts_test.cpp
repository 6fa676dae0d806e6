#include "policy/kernel_mounts.h"

#include <gtest/gtest.h>

namespace caisson {

TEST(KernelMounts, AreThoseOfTheKernelOutsideOfWhatACellHasOfItsOwn) {
  std::vector<KernelMount> mounts = kernel_mounts(
      "22 1 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
      "23 22 0:21 / /sys/fs/cgroup rw - cgroup2 none rw\n"
      "24 1 0:22 / /proc rw - proc proc rw\n"
      "25 24 0:23 / /proc/sys/fs/binfmt_misc rw - binfmt_misc none rw\n"
      "26 1 0:24 / /srv/a\\040b/proc rw - proc proc rw\n"
      "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "28 1 0:25 /fs /mnt rw - procfs none rw\n"
      "garbage - proc\n\n");
  ASSERT_EQ(mounts.size(), 3u);
  EXPECT_EQ(mounts[0].path, "/sys");
  EXPECT_EQ(mounts[1].path, "/sys/fs/cgroup");
  EXPECT_FALSE(mounts[1].shows_processes);
  EXPECT_EQ(mounts[2].path, "/srv/a b/proc");
  EXPECT_TRUE(mounts[2].shows_processes);
}

}  // namespace caisson

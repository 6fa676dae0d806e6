#include "host/host_texts.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

TEST(ContainerKind, IsToldByWhatTheEngineLeaves) {
  EXPECT_EQ(container_kind({}), ContainerKind::kNone);
  EXPECT_EQ(container_kind({.docker_file = true}), ContainerKind::kDocker);
  EXPECT_EQ(container_kind({.podman_file = true}), ContainerKind::kPodman);
  EXPECT_EQ(container_kind({.variable = "podman"}), ContainerKind::kPodman);
  EXPECT_EQ(container_kind({.systemd_name = "lxc\n"}), ContainerKind::kOther);
  EXPECT_EQ(container_kind({.docker_file = true, .kubernetes = true}), ContainerKind::kKubernetes);
}

// A virtual machine whose disk was made of a Docker image.
TEST(ContainerKind, IsNoneInTheFirstPidNamespace) {
  EXPECT_EQ(container_kind({.first_pid_namespace = true, .docker_file = true}),
            ContainerKind::kNone);
  EXPECT_TRUE(is_first_pid_namespace("pid:[4026531836]"));
  EXPECT_FALSE(is_first_pid_namespace("pid:[4026532210]"));
  EXPECT_FALSE(is_first_pid_namespace(""));
}

TEST(Chroot, IsARootThatIsNoMount) {
  EXPECT_FALSE(
      root_is_no_mount("22 1 254:0 / / rw - ext4 /dev/vda rw\n23 22 0:5 / /proc rw - proc p rw\n"));
  EXPECT_TRUE(root_is_no_mount("23 22 0:5 / /proc rw - proc proc rw\n"));
  EXPECT_FALSE(root_is_no_mount(""));  // nothing to tell by
}

TEST(IdMap, HoldsWhatItsRangesHold) {
  EXPECT_TRUE(is_mapped("         0          0 4294967295\n", 4294967294u));
  EXPECT_FALSE(is_mapped("         0          0 4294967295\n", 4294967295u));
  EXPECT_TRUE(is_mapped("0 1000 1\n1 100000 65536\n", 65536));
  EXPECT_FALSE(is_mapped("0 1000 1\n1 100000 65536\n", 65537));
  EXPECT_FALSE(is_mapped("1000 1000 1\n", 65534));
  EXPECT_TRUE(is_mapped("", 1));
}

TEST(SeccompState, IsReadFromTheStatusFile) {
  EXPECT_TRUE(has_seccomp_filter("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
  EXPECT_FALSE(has_seccomp_filter("Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t2\n"));
  EXPECT_FALSE(has_seccomp_filter(""));
}

TEST(KernelVersion, IsTheFirstTwoNumbers) {
  EXPECT_EQ(parse_kernel_version("6.18.44-fc"), (KernelVersion{6, 18}));
  EXPECT_EQ(parse_kernel_version("5.4-rc1"), (KernelVersion{5, 4}));
  EXPECT_EQ(parse_kernel_version("unknown"), KernelVersion{});
  EXPECT_EQ(parse_kernel_version(""), KernelVersion{});
  EXPECT_LT((KernelVersion{5, 10}), (KernelVersion{5, 12}));
  EXPECT_GT((KernelVersion{6, 1}), (KernelVersion{5, 12}));
}

}  // namespace
}  // namespace caisson

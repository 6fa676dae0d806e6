#include "host/checks.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "host/fake_facts.h"

namespace caisson {
namespace {

Check find(const Checks& checks, std::string_view name) {
  for (const Check& check : checks)
    if (check.name == name) return check;
  ADD_FAILURE() << "no check is called " << name;
  return {};
}
Check look(const DeepFacts& facts, std::string_view name) { return find(check_all(facts), name); }
std::string fix_of(const Check& check) { return join(check.fix, "\n"); }
bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::vector<std::string> named(const Checks& checks, CheckStatus status) {
  std::vector<std::string> names;
  for (const Check& check : checks)
    if (check.status == status) names.push_back(check.name);
  return names;
}
using Names = std::vector<std::string>;

TEST(Checks, AHostWhereAllIsFineEnforcesInFullAndWarnsOfNothing) {
  Checks checks = check_all(fine_host());
  EXPECT_TRUE(enforced_in_full(checks));
  EXPECT_EQ(named(checks, CheckStatus::kFail), Names{});
  EXPECT_EQ(named(checks, CheckStatus::kWarn), Names{});
  for (const Check& check : checks) EXPECT_TRUE(check.fix.empty()) << check.name;
}

TEST(Checks, WhatIsWrongSaysWhyItMattersAndWhatToDo) {
  DeepFacts nothing_works = docker_default();
  nothing_works.filter = nothing_works.landlock = failed(EPERM);
  nothing_works.notification = {};
  nothing_works.swap = {true, false};
  nothing_works.audit.folder_facts.reset();
  nothing_works.user_limit = 3;
  for (const Check& check : check_all(nothing_works)) {
    if (check.status != CheckStatus::kWarn && check.status != CheckStatus::kFail) continue;
    EXPECT_FALSE(check.why.empty()) << check.name;
    EXPECT_FALSE(check.fix.empty()) << check.name;
  }
}

TEST(UserNamespaces, UbuntusRestrictionIsToldWithTheProfileForThisBinary) {
  Check check = look(ubuntu_24_04(), "user namespaces");
  EXPECT_EQ(check.status, CheckStatus::kFail);
  EXPECT_TRUE(has(check.found, "kernel.apparmor_restrict_unprivileged_userns is 1"));
  EXPECT_TRUE(has(check.found, "write /proc/self/uid_map: Operation not permitted"));
  std::string fix = fix_of(check);
  EXPECT_TRUE(has(fix, "profile caisson /usr/local/bin/caisson flags=(unconfined) {\n  userns,"));
  EXPECT_TRUE(has(fix, "sudo apparmor_parser -r /etc/apparmor.d/caisson"));
  EXPECT_FALSE(has(fix, "is not root's"));
}

TEST(UserNamespaces, AProfileForABinaryThatOthersCanWriteIsWarnedOf) {
  DeepFacts facts = ubuntu_24_04();
  facts.program = "/home/ann/bin/caisson";
  facts.program_is_roots = false;
  EXPECT_TRUE(has(fix_of(look(facts, "user namespaces")), "/home/ann/bin/caisson is not root's"));
}

TEST(UserNamespaces, APathWithPatternsStandsForItselfInTheProfile) {
  std::string profile = join(apparmor_profile_fix("/opt/a b/{x}*\"/caisson"), "\n");
  EXPECT_TRUE(has(profile, "profile caisson \"/opt/a b/\\{x\\}\\*\\\"/caisson\" flags="));
}

TEST(UserNamespaces, DockersFilterIsToldWithTheOptionsOfDockerRun) {
  Checks checks = check_all(docker_default());
  Check check = find(checks, "user namespaces");
  EXPECT_EQ(check.status, CheckStatus::kFail);
  EXPECT_TRUE(has(check.found, "seccomp filter of a container"));
  EXPECT_TRUE(has(fix_of(check), "docker run --security-opt seccomp=unconfined"));
  EXPECT_TRUE(has(fix_of(check), "systempaths=unconfined"));
  EXPECT_EQ(named(checks, CheckStatus::kFail), (Names{"user namespaces", "process handles"}));
  EXPECT_EQ(find(checks, "mount namespace").status, CheckStatus::kInfo);
}

TEST(UserNamespaces, DockerOnUbuntuIsDockersFilterFirst) {
  DeepFacts facts = docker_default();
  facts.apparmor_userns = 1;
  EXPECT_EQ(why_no_user_namespace(facts), UserNamespaceRefusal::kContainerFilter);
  facts.user_namespace.step = "write /proc/self/uid_map";  // the filter let the clone pass
  EXPECT_EQ(why_no_user_namespace(facts), UserNamespaceRefusal::kAppArmor);
}

TEST(UserNamespaces, ALimitOfZeroIsToldWithTheSetting) {
  DeepFacts facts = fine_host();
  facts.user_limit = 0;
  refuse_user_namespace(facts, ENOSPC, "clone(CLONE_NEWUSER)");
  Check check = look(facts, "user namespaces");
  EXPECT_EQ(check.status, CheckStatus::kFail);
  EXPECT_TRUE(has(check.found, "user.max_user_namespaces is 0"));
  EXPECT_TRUE(has(fix_of(check), "sudo sysctl -w user.max_user_namespaces="));
  EXPECT_FALSE(has(fix_of(check), "on the host"));
}

TEST(UserNamespaces, ASettingIsTheHostsInAContainer) {
  DeepFacts facts = fine_host();
  facts.user_limit = 0;
  facts.container = ContainerKind::kPodman;
  refuse_user_namespace(facts, ENOSPC, "clone(CLONE_NEWUSER)");
  EXPECT_TRUE(has(fix_of(look(facts, "user namespaces")), "# on the host"));
}

struct RefusalCase {
  const char* name;
  int errnum;
  void (*change)(DeepFacts&);
  UserNamespaceRefusal expected;
};
class Refusals : public testing::TestWithParam<RefusalCase> {};

TEST_P(Refusals, AreToldApart) {
  DeepFacts facts = fine_host();
  refuse_user_namespace(facts, GetParam().errnum, "clone(CLONE_NEWUSER)");
  GetParam().change(facts);
  EXPECT_EQ(why_no_user_namespace(facts), GetParam().expected);
  EXPECT_EQ(look(facts, "user namespaces").status, CheckStatus::kFail);
}

using R = UserNamespaceRefusal;
INSTANTIATE_TEST_SUITE_P(
    UserNamespaces, Refusals,
    testing::Values(
        RefusalCase{"InsideACell", EPERM, [](DeepFacts& f) { f.inside_cell = f.filtered = true; },
                    R::kInsideCell},
        RefusalCase{"DebiansSwitch", EPERM, [](DeepFacts& f) { f.userns_switch = 0; },
                    R::kSwitchedOff},
        RefusalCase{"DebiansSwitchOnIsNoReason", EPERM, [](DeepFacts& f) { f.userns_switch = 1; },
                    R::kUnknown},
        RefusalCase{"AppArmorAtTheClone", EACCES, [](DeepFacts& f) { f.apparmor_userns = 1; },
                    R::kAppArmor},
        RefusalCase{"Selinux", EACCES, [](DeepFacts& f) { f.selinux_enforcing = true; },
                    R::kSelinux},
        RefusalCase{"Chroot", EPERM, [](DeepFacts& f) { f.chrooted = true; }, R::kChroot},
        RefusalCase{"UnmappedIds", EPERM, [](DeepFacts& f) { f.ids_mapped = false; },
                    R::kUnmappedIds},
        RefusalCase{"BwrapDisableUserns", ENOSPC, [](DeepFacts& f) { f.user_limit = 2147483647; },
                    R::kLimitUsedUp},
        RefusalCase{"TooDeep", EUSERS, [](DeepFacts&) {}, R::kTooDeep},
        RefusalCase{"NotInTheKernel", EINVAL, [](DeepFacts&) {}, R::kNotInKernel},
        RefusalCase{"NoReasonKnown", EPERM, [](DeepFacts&) {}, R::kUnknown}),
    [](const auto& info) { return info.param.name; });

TEST(UserNamespaces, ACellInACellNamesTheGrant) {
  DeepFacts facts = fine_host();
  facts.inside_cell = facts.filtered = true;
  refuse_user_namespace(facts, EPERM, "clone(CLONE_NEWUSER)");
  EXPECT_TRUE(has(fix_of(look(facts, "user namespaces")), "--allow-nested"));
}

TEST(Namespaces, OneThatIsUsedUpNamesItsOwnLimit) {
  DeepFacts facts = fine_host();
  facts.namespaces[2] = {"network", "net", 0, failed(ENOSPC, "clone")};
  Check check = look(facts, "network namespace");
  EXPECT_EQ(check.status, CheckStatus::kFail);
  EXPECT_EQ(fix_of(check), "sudo sysctl -w user.max_net_namespaces=65536");
}

TEST(Namespaces, ASmallLimitIsWarnedOf) {
  DeepFacts facts = fine_host();
  facts.namespaces[0].limit = 10;
  Checks checks = check_all(facts);
  EXPECT_EQ(named(checks, CheckStatus::kWarn), Names{"namespace limits"});
  EXPECT_TRUE(enforced_in_full(checks));
}

TEST(Mounts, AMaskedProcIsToldWithTheOptionThatUnmasksIt) {
  DeepFacts facts = fine_host();
  facts.container = ContainerKind::kDocker;
  facts.proc = failed(EPERM, "mount proc");
  Check check = look(facts, "fresh proc");
  EXPECT_EQ(check.status, CheckStatus::kFail);
  EXPECT_TRUE(has(check.found, "parts of /proc are covered"));
  EXPECT_TRUE(has(fix_of(check), "--security-opt systempaths=unconfined"));
  facts.container = ContainerKind::kPodman;
  EXPECT_TRUE(has(fix_of(look(facts, "fresh proc")), "unmask=ALL"));
  facts.container = ContainerKind::kKubernetes;
  EXPECT_TRUE(has(fix_of(look(facts, "fresh proc")), "procMount: Unmasked"));
}

TEST(Mounts, AKernelWithoutMountSetattrFails) {
  DeepFacts facts = fine_host();
  facts.host.kernel_release = "5.10.0-28-amd64";
  facts.tree_attributes = failed(ENOSYS, "mount_setattr");
  Checks checks = check_all(facts);
  EXPECT_EQ(named(checks, CheckStatus::kFail), (Names{"kernel", "private mounts"}));
  EXPECT_TRUE(has(find(checks, "private mounts").found, "mount_setattr: Function not implemented"));
}

TEST(Seccomp, WithoutNotificationOnlyNoExecIsLost) {
  DeepFacts facts = fine_host();
  facts.notification = failed(EBUSY, "install a filter with a listener");
  Checks checks = check_all(facts);
  EXPECT_EQ(named(checks, CheckStatus::kWarn), Names{"seccomp notification"});
  EXPECT_TRUE(enforced_in_full(checks));
}

TEST(Seccomp, WithoutAFilterNothingIsEnforcedInFull) {
  DeepFacts facts = fine_host();
  facts.filter = failed(EINVAL, "install a filter");
  facts.notification = {};
  EXPECT_FALSE(enforced_in_full(check_all(facts)));
}

TEST(Landlock, AKernelWithoutItIsAWarningAndHasNoSuchTier) {
  DeepFacts facts = fine_host();
  facts.host.landlock_abi = 0;
  facts.landlock = failed(ENOSYS);
  Check check = look(facts, "landlock");
  EXPECT_EQ(check.status, CheckStatus::kWarn);
  EXPECT_TRUE(has(fix_of(check), "CONFIG_SECURITY_LANDLOCK"));
  EXPECT_FALSE(landlock_tier_lacks(facts).has_value());
}

TEST(Landlock, SwitchedOffAtBootIsToldWithTheCommandLine) {
  DeepFacts facts = fine_host();
  facts.host.landlock_abi = 0;
  facts.landlock = failed(EOPNOTSUPP);
  facts.active_lsms = "lockdown,yama,apparmor";
  EXPECT_TRUE(has(fix_of(look(facts, "landlock")), "\nlsm=landlock,lockdown,yama,apparmor"));
}

TEST(Landlock, AnOlderAbiSaysWhatIsMissing) {
  DeepFacts facts = fine_host();
  facts.host.landlock_abi = 4;
  Check check = look(facts, "landlock");
  EXPECT_EQ(check.status, CheckStatus::kWarn);
  EXPECT_EQ(
      check.found,
      "ABI 4; lacks ioctl on devices (ABI 5, 6.10), abstract sockets and signals (ABI 6, 6.12)");
  facts.host.landlock_abi = 6;
  EXPECT_EQ(look(facts, "landlock").status, CheckStatus::kOk);
}

TEST(LandlockTier, ListsWhatItCantDo) {
  DeepFacts facts = fine_host();
  std::string lacks = join(*landlock_tier_lacks(facts), "\n");
  for (const char* part : {"/tmp", "/proc", "frees the others", "stat(2)", "sockets", "pids:"})
    EXPECT_TRUE(has(lacks, part)) << part;
  facts.host.landlock_abi = 0;
  EXPECT_FALSE(landlock_tier_lacks(facts));
}

TEST(LandlockTier, IsThereWhereUserNamespacesAreNot) {
  EXPECT_TRUE(landlock_tier_lacks(ubuntu_24_04()).has_value());
}

TEST(Surroundings, AnotherHostIsToldByUserContainerAndCell) {
  DeepFacts facts = fine_host();
  EXPECT_EQ(look(facts, "place").found, "an ordinary user (uid 1000), in no container");
  facts.host.uid = 0;
  facts.container = ContainerKind::kPodman;
  facts.inside_cell = true;
  EXPECT_EQ(look(facts, "place").found, "root, in a Podman container, inside a caisson cell");
}

TEST(Extras, ACorePatternThatIsAPipeNamesTheProgram) {
  Check check = look(ubuntu_24_04(), "core dumps");
  EXPECT_EQ(check.status, CheckStatus::kInfo);
  EXPECT_EQ(check.found, "kernel.core_pattern is a pipe to /usr/share/apport/apport");
  EXPECT_FALSE(check.fix.empty());
}

}  // namespace
}  // namespace caisson

// The checks of limits and of the record.
#include <gtest/gtest.h>

#include "base/text.h"
#include "host/checks.h"
#include "host/fake_facts.h"

namespace caisson {
namespace {

using Version = CgroupFacts::Version;

Check look_at_limits(const DeepFacts& facts, std::string_view name) {
  for (const Check& check : check_all(facts))
    if (check.name == name) return check;
  ADD_FAILURE() << "no check is called " << name;
  return {};
}
std::string limit_fix(const Check& check) { return join(check.fix, "\n"); }
bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

DeepFacts without_cgroups(Version version, const char* why) {
  DeepFacts facts = fine_host();
  facts.host.cgroup = {version, {}, why, ""};
  return facts;
}

TEST(Limits, ByCgroupNameTheFolder) {
  Check check = look_at_limits(fine_host(), "memory limit");
  EXPECT_EQ(check.status, CheckStatus::kOk);
  EXPECT_EQ(check.found, "by cgroup v2 below /sys/fs/cgroup/mine");
}

TEST(Limits, WithoutCgroupsAreByRlimitWithAWarningAndNotInFull) {
  DeepFacts facts = without_cgroups(Version::kNone, "this kernel has no cgroups");
  EXPECT_EQ(look_at_limits(facts, "memory limit").status, CheckStatus::kWarn);
  EXPECT_TRUE(mentions(look_at_limits(facts, "memory limit").found, "this kernel has no cgroups"));
  EXPECT_EQ(look_at_limits(facts, "pids limit").status, CheckStatus::kOk);
  EXPECT_EQ(look_at_limits(facts, "cpu limit").status, CheckStatus::kWarn);
  EXPECT_FALSE(
      enforced_in_full(check_all(facts)));  // memory: each process, not the cell as a whole
}

// RLIMIT_NPROC never binds the host's root.
TEST(Limits, OfProcessesAreNotEnforcedForRootWithoutACgroup) {
  DeepFacts facts = without_cgroups(Version::kNone, "this kernel has no cgroups");
  facts.process_limit = failed(EOVERFLOW);
  EXPECT_EQ(look_at_limits(facts, "pids limit").status, CheckStatus::kFail);
  EXPECT_FALSE(enforced_in_full(check_all(facts)));
  give_cgroups(facts, Version::kV1);
  EXPECT_EQ(look_at_limits(facts, "pids limit").status, CheckStatus::kOk);
}

TEST(Limits, OfProcessesCountTheWholeUserOnAnOlderKernel) {
  DeepFacts facts = without_cgroups(Version::kNone, "this kernel has no cgroups");
  facts.process_limit_alone = failed(EAGAIN);
  EXPECT_EQ(look_at_limits(facts, "pids limit").status, CheckStatus::kWarn);
}

TEST(Delegation, OnV2IsAskedOfTheUsersSystemd) {
  DeepFacts facts = without_cgroups(Version::kV2, "/sys/fs/cgroup/user.slice is not delegated");
  facts.host.cgroup.user_manager = "/run/user/1000";
  Check check = look_at_limits(facts, "memory limit");
  EXPECT_EQ(check.status, CheckStatus::kWarn);
  EXPECT_EQ(check.fix.at(0), "systemd-run --user --scope -p Delegate=yes caisson exec …");
  EXPECT_TRUE(mentions(limit_fix(check), "user@.service.d"));
  EXPECT_TRUE(mentions(limit_fix(check), "Delegate=cpu memory pids"));
}

TEST(Delegation, OnV2WithoutSystemdIsByHand) {
  DeepFacts facts = without_cgroups(Version::kV2, "/sys/fs/cgroup is not writable by uid 1000");
  std::string fix = limit_fix(look_at_limits(facts, "memory limit"));
  EXPECT_FALSE(mentions(fix, "systemd"));
  EXPECT_TRUE(mentions(fix, "sudo chown 1000 /sys/fs/cgroup/caisson-user-1000 "));
}

TEST(Delegation, OnV1NeedsAnAdministratorForEachMissingController) {
  DeepFacts facts = without_cgroups(Version::kV1, "/sys/fs/cgroup/memory is not writable");
  facts.own_cgroups = {{"memory", "/sys/fs/cgroup/memory"},
                       {"cpu", "/sys/fs/cgroup/cpu,cpuacct/a b"}};
  facts.host.cgroup.slots = {{"pids", "/sys/fs/cgroup/pids"}};
  Check check = look_at_limits(facts, "memory limit");
  std::string fix = limit_fix(check);
  EXPECT_TRUE(mentions(fix, "\n  /sys/fs/cgroup/memory/caisson-user-1000 \\"));
  EXPECT_TRUE(mentions(fix, "\n  '/sys/fs/cgroup/cpu,cpuacct/a b/caisson-user-1000' \\"));
  EXPECT_FALSE(mentions(fix, "/pids/"));
  EXPECT_TRUE(mentions(fix, "sudo chown 1000 \"$folder\""));
  EXPECT_EQ(look_at_limits(facts, "cpu limit").fix, check.fix);  // told once
}

TEST(Delegation, InAContainerIsTheEnginesBusiness) {
  EXPECT_TRUE(mentions(limit_fix(look_at_limits(docker_default(), "memory limit")),
                       "docker run --cgroupns=private"));
}

TEST(Delegation, InACellIsLeftToTheOuterOne) {
  DeepFacts facts = without_cgroups(Version::kNone, "the memory cgroup hierarchy is not mounted");
  facts.inside_cell = true;
  EXPECT_TRUE(mentions(limit_fix(look_at_limits(facts, "memory limit")), "the outer one"));
}

TEST(Swap, ThatDoesNotCountIsAWayAroundTheMemoryLimit) {
  DeepFacts facts = fine_host();
  facts.swap = {true, false};
  EXPECT_EQ(look_at_limits(facts, "swap accounting").status, CheckStatus::kWarn);
  facts.swap = {true, true};
  EXPECT_EQ(look_at_limits(facts, "swap accounting").status, CheckStatus::kOk);
  facts.swap = {false, false};
  EXPECT_EQ(look_at_limits(facts, "swap accounting").status, CheckStatus::kOk);
}

TEST(AuditFolder, ThatOthersCanReadIsWarnedOf) {
  DeepFacts facts = fine_host();
  facts.audit.folder_facts->mode = 0755;
  Check check = look_at_limits(facts, "audit folder");
  EXPECT_EQ(check.status, CheckStatus::kWarn);
  EXPECT_EQ(limit_fix(check), "chmod 700 /home/ann/.local/state/caisson");
}

TEST(AuditFolder, ThatTheRecordWouldBeRefusedInFails) {
  auto status_with = [](void (*change)(AuditFacts&)) {
    DeepFacts facts = fine_host();
    change(facts.audit);
    return look_at_limits(facts, "audit folder").status;
  };
  EXPECT_EQ(status_with([](AuditFacts&) {}), CheckStatus::kOk);
  EXPECT_EQ(status_with([](AuditFacts& a) { a.folder_facts->owner = 0; }), CheckStatus::kFail);
  EXPECT_EQ(status_with([](AuditFacts& a) { a.folder_facts->mode = 0720; }), CheckStatus::kFail);
  EXPECT_EQ(status_with([](AuditFacts& a) { a.folder_facts->writable = false; }),
            CheckStatus::kFail);
  EXPECT_EQ(status_with([](AuditFacts& a) { a.folder_facts->kind = FileFacts::Kind::kLink; }),
            CheckStatus::kFail);
  EXPECT_EQ(status_with([](AuditFacts& a) { a.file_facts->owner = 0; }), CheckStatus::kFail);
  EXPECT_EQ(status_with([](AuditFacts& a) { a.file_facts->kind = FileFacts::Kind::kLink; }),
            CheckStatus::kFail);
  EXPECT_EQ(status_with([](AuditFacts& a) { a.file_facts.reset(); }), CheckStatus::kOk);
}

TEST(AuditFolder, ThatIsMissingIsJudgedByTheOneAbove) {
  DeepFacts facts = fine_host();
  facts.audit.folder_facts.reset();
  facts.audit.file_facts.reset();
  facts.audit.above = "/home/ann";
  auto status_below = [&](FileFacts above) {
    facts.audit.above_facts = above;
    return look_at_limits(facts, "audit folder").status;
  };
  EXPECT_EQ(status_below({FileFacts::Kind::kFolder, 1000, 0755, true}), CheckStatus::kOk);
  EXPECT_EQ(status_below({FileFacts::Kind::kFolder, 0, 01777, true}), CheckStatus::kOk);  // /tmp
  EXPECT_EQ(status_below({FileFacts::Kind::kFolder, 0, 0777, true}), CheckStatus::kFail);
  EXPECT_EQ(status_below({FileFacts::Kind::kFolder, 0, 0755, false}), CheckStatus::kFail);
  EXPECT_EQ(status_below({FileFacts::Kind::kFolder, 1001, 0777, true}), CheckStatus::kFail);
  EXPECT_EQ(status_below({FileFacts::Kind::kFile, 1000, 0644, true}), CheckStatus::kFail);
}

}  // namespace
}  // namespace caisson

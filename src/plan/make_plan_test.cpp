#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

#include "plan/plan.h"

namespace caisson {
namespace {

Policy plain_policy() {
  Policy policy;
  policy.limits = {.wall = std::chrono::seconds(10),
                   .memory_bytes = 256 << 20,
                   .cpu_millis = 0,
                   .cpu_shares = {},
                   .pids = 128,
                   .files = 256,
                   .file_bytes = 1 << 30,
                   .tmp_bytes = 64 << 20,
                   .output_bytes = 16 << 20};
  policy.environment = {{"PATH", "/usr/bin:relative::/bin"}, {"USER", "ada"}};
  policy.hostname = "caisson";
  policy.workdir = "/tmp";
  return policy;
}

HostFacts plain_host() {
  HostFacts facts;
  facts.uid = facts.gid = 1000;
  facts.landlock_abi = 7;
  facts.cpus = 4;
  facts.cgroup.version = CgroupFacts::Version::kV2;
  for (const char* name : {"memory", "pids", "cpu"})
    facts.cgroup.slots.push_back({name, "/sys/fs/cgroup/mine"});
  facts.system = {{"/usr", "", true}, {"/bin", "usr/bin", true}};
  facts.etc = {"ssl/certs/", "localtime"};
  return facts;
}

HostFacts host_without_cgroups() {
  HostFacts facts = plain_host();
  facts.cgroup = {
      .version = CgroupFacts::Version::kNone, .slots = {}, .why_not = "none is mounted"};
  return facts;
}

Plan plan_for(const Policy& policy, const HostFacts& facts) {
  Result<Plan> plan = make_plan(policy, {{"true"}}, facts);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().what);
  return plan.ok() ? std::move(*plan) : Plan{};
}

std::string error_of(const Policy& policy, const HostFacts& facts) {
  Result<Plan> plan = make_plan(policy, {{"true"}}, facts);
  return plan.ok() ? "" : plan.error().what;
}

std::string held_by(const Plan& plan, const std::string& limit) {
  for (const Enforcement& one : plan.enforcement)
    if (one.limit == limit) return one.mechanism;
  return "nothing";
}

std::string cgroup_value(const Plan& plan, const std::string& file) {
  for (const CgroupFile& one : plan.cgroup.files)
    if (one.file == file) return one.value;
  return "none";
}

bool is_optional(const Plan& plan, const std::string& file) {
  for (const CgroupFile& one : plan.cgroup.files)
    if (one.file == file) return one.optional;
  return false;
}

std::optional<uint64_t> rlimit_value(const Plan& plan, int resource) {
  for (const ResourceLimit& one : plan.rlimits)
    if (one.resource == resource) return one.value;
  return std::nullopt;
}

const BindHost* bind_at(const Plan& plan, const std::string& target) {
  for (const RootStep& step : plan.root)
    if (auto* bind = std::get_if<BindHost>(&step); bind && bind->target == target) return bind;
  return nullptr;
}

std::string file_content(const Plan& plan, const std::string& path) {
  for (const RootStep& step : plan.root)
    if (const auto* file = std::get_if<MakeFile>(&step); file && file->path == path)
      return file->content;
  return "no such file";
}

TEST(Plan, TakesEveryNamespaceByDefault) {
  uint64_t all = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                 CLONE_NEWUTS | 0x02000000 /* CLONE_NEWCGROUP */;
  EXPECT_EQ(plan_for(plain_policy(), plain_host()).namespaces, all);
}

TEST(Plan, TheNetworkGrantLeavesOutTheNetworkNamespaceAndNothingElse) {
  Policy policy = plain_policy();
  policy.grants.push_back({GrantKind::kHostNetwork, "a test"});
  uint64_t with = plan_for(plain_policy(), plain_host()).namespaces;
  EXPECT_EQ(plan_for(policy, plain_host()).namespaces, with & ~uint64_t{CLONE_NEWNET});
}

TEST(Plan, ACoverComesLastAndTheFoldersAboveItAreHeld) {
  Policy policy = plain_policy();
  policy.mounts = {{.source = "/home/ada", .target = "/workspace", .access = Access::kReadWrite}};
  policy.covers = {{"/workspace/.local/state/caisson", "the record"}};
  std::vector<std::string> words;
  for (const RootStep& step : plan_for(policy, plain_host()).root) words.push_back(describe(step));
  ASSERT_GE(words.size(), 4u);
  EXPECT_EQ(std::vector(words.end() - 4, words.end()),
            (std::vector<std::string>{
                "mount     /home/ada at /workspace (rw,nosuid,nodev)",
                "hold      /workspace/.local", "hold      /workspace/.local/state",
                "cover     /workspace/.local/state/caisson with an empty folder (ro)"}));
  policy.mounts[0].access = Access::kReadOnly;
  words.clear();
  for (const RootStep& step : plan_for(policy, plain_host()).root) words.push_back(describe(step));
  EXPECT_EQ(std::ranges::count_if(words, [](auto& one) { return one.starts_with("hold"); }), 0);
}

TEST(Plan, TheLandlockTierCantHideAPartOfAMount) {
  Policy policy = plain_policy();
  policy.tier = Tier::kLandlock;
  policy.best_effort = {"memory", "pids"};
  policy.mounts = {{.source = "/s", .target = "/s"}};
  EXPECT_EQ(error_of(policy, plain_host()), "");
  policy.covers = {{"/s/caisson", "the record"}};
  EXPECT_NE(error_of(policy, plain_host()).find("can't hide /s/caisson"), std::string::npos);
}

TEST(Plan, TheLandlockTierIsRefusedWhereChildrenAreNotListed) {
  Policy policy = plain_policy();
  policy.tier = Tier::kLandlock;
  policy.best_effort = {"memory", "pids"};
  HostFacts facts = plain_host();
  EXPECT_EQ(error_of(policy, facts), "");
  facts.lists_children = false;
  EXPECT_NE(error_of(policy, facts).find("children"), std::string::npos);
}

TEST(Plan, ACellWithRulesOfTheNetworkHasAGatewayAndItsResolver) {
  Policy policy = plain_policy();
  policy.network.rules.allow = {"example.com"};
  policy.network.forward = {5432};
  Plan plan = plan_for(policy, plain_host());
  ASSERT_TRUE(plan.gateway);
  EXPECT_EQ(plan.gateway->forward, std::vector<uint16_t>{5432});
  policy.network.loopback = {80};  // behind the others: the gateway counts on the order
  EXPECT_EQ(plan_for(policy, plain_host()).gateway->forward, (std::vector<uint16_t>{5432, 80}));
  EXPECT_EQ(plan.gateway->pool_sockets, 0u);
  EXPECT_EQ(file_content(plan, "/etc/resolv.conf"), "nameserver 127.0.0.1\n");
  EXPECT_EQ(file_content(plan_for(plain_policy(), plain_host()), "/etc/resolv.conf"), "");
  EXPECT_FALSE(plan_for(plain_policy(), plain_host()).gateway);
}

TEST(Plan, WhatTheGatewayMadeTakesThePlaceOfAVariableOfTheSameName) {
  Policy policy = plain_policy();
  policy.network.rules.allow = {"example.com"};
  policy.environment.emplace_back("KEY", "of the person");
  HostFacts facts = plain_host();
  facts.gateway = GatewayFacts{.ca_pem = "CA",
                               .ca_bundle_pem = "ALL",
                               .covered_bundles = {"/etc/ssl/certs/ca-certificates.crt"},
                               .variables = {{"KEY", "caisson_KEY"}}};
  Plan plan = plan_for(policy, facts);
  EXPECT_EQ(std::ranges::count(plan.environment, "KEY=caisson_KEY"), 1);
  EXPECT_EQ(std::ranges::count(plan.environment, "KEY=of the person"), 0);
  EXPECT_EQ(file_content(plan, "/etc/caisson/ca-bundle.pem"), "ALL");
}

TEST(Plan, SkipsFoldersOfThePathThatAreNotAbsolute) {
  std::vector<std::string> expected = {"/usr/bin/true", "/bin/true"};
  EXPECT_EQ(plan_for(plain_policy(), plain_host()).candidates, expected);
}

TEST(Plan, LooksForTheCommandOnlyWhereTheCellHasSomething) {
  Policy policy = plain_policy();
  policy.environment = {{"PATH", "/root/bin:/home/ann/bin:/opt/x:/data:/tmp/bin:/usr/bin"}};
  policy.mounts = {{.source = "/home/ann/tool", .target = "/home/ann/tool"}};
  policy.links = {{.path = "/data", .target = "/tmp"}};
  std::vector<std::string> expected = {"/home/ann/bin/true", "/opt/x/true", "/data/true",
                                       "/tmp/bin/true", "/usr/bin/true"};
  EXPECT_EQ(plan_for(policy, plain_host()).candidates, expected);
  policy.file_rules.host_view = true;  // everything is there
  EXPECT_EQ(plan_for(policy, plain_host()).candidates.size(), 6u);
}

TEST(Plan, MountsSystemFoldersReadOnlyAndCopiesTheirLinks) {
  Plan plan = plan_for(plain_policy(), plain_host());
  ASSERT_NE(bind_at(plan, "/usr"), nullptr);
  EXPECT_TRUE(bind_at(plan, "/usr")->flags.read_only);
  EXPECT_EQ(bind_at(plan, "/bin"), nullptr);
  EXPECT_TRUE(std::ranges::any_of(plan.root, [](const RootStep& step) {
    auto* link = std::get_if<MakeLink>(&step);
    return link && link->path == "/bin" && link->target == "usr/bin";
  }));
}

TEST(Plan, GivesDevicesToDevicesOnly) {
  Plan plan = plan_for(plain_policy(), plain_host());
  for (const RootStep& step : plan.root)
    if (auto* bind = std::get_if<BindHost>(&step))
      EXPECT_EQ(bind->flags.devices, bind->target.starts_with("/dev/")) << bind->target;
}

TEST(Plan, ChecksTheIdentityOfWhatThePolicyMounts) {
  Policy policy = plain_policy();
  policy.mounts.push_back({.source = "/data", .target = "/in", .device = 7, .inode = 8});
  const Plan plan = plan_for(policy, plain_host());
  const BindHost* bind = bind_at(plan, "/in");
  ASSERT_NE(bind, nullptr);
  EXPECT_EQ(bind->device, 7u);
  EXPECT_EQ(bind->inode, 8u);
  EXPECT_TRUE(bind->flags.read_only);
}

TEST(Plan, MarksAMountThatLiesInsideAnother) {
  Policy policy = plain_policy();
  policy.mounts.push_back({.source = "/a", .target = "/w", .access = Access::kReadWrite});
  policy.mounts.push_back({.source = "/b", .target = "/w/sub"});
  policy.mounts.push_back({.source = "/c", .target = "/wide"});
  Plan plan = plan_for(policy, plain_host());
  EXPECT_FALSE(bind_at(plan, "/w")->below_user_mount);
  EXPECT_TRUE(bind_at(plan, "/w/sub")->below_user_mount);
  EXPECT_FALSE(bind_at(plan, "/wide")->below_user_mount);
}

TEST(Plan, LimitsByCgroupV2WhereThatIsToBeHad) {
  Policy policy = plain_policy();
  policy.limits.cpu_millis = 500;
  policy.limits.cpu_shares = 1024;
  Plan plan = plan_for(policy, plain_host());
  EXPECT_EQ(cgroup_value(plan, "memory.max"), "268435456");
  EXPECT_EQ(cgroup_value(plan, "memory.swap.max"), "0");
  EXPECT_EQ(cgroup_value(plan, "pids.max"), "129");  // and pid 1
  EXPECT_EQ(cgroup_value(plan, "cpu.max"), "50000 100000");
  EXPECT_EQ(cgroup_value(plan, "cpu.weight"), "39");  // what the kernel makes of 1024 shares
  EXPECT_EQ(held_by(plan, "memory"), "cgroup v2");
  EXPECT_TRUE(plan.degradations.empty());
}

TEST(Plan, LimitsByCgroupV1WithItsOwnFiles) {
  HostFacts facts = plain_host();
  facts.cgroup.version = CgroupFacts::Version::kV1;
  Policy policy = plain_policy();
  policy.limits.cpu_millis = 1500;
  Plan plan = plan_for(policy, facts);
  EXPECT_EQ(cgroup_value(plan, "memory.limit_in_bytes"), "268435456");
  EXPECT_EQ(cgroup_value(plan, "memory.kmem.tcp.limit_in_bytes"), "268435456");
  EXPECT_EQ(cgroup_value(plan, "cpu.cfs_quota_us"), "150000");
  EXPECT_EQ(cgroup_value(plan, "memory.max"), "none");
  for (const char* lacking : {"memory.memsw.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes"})
    EXPECT_TRUE(is_optional(plan, lacking)) << lacking;
  EXPECT_FALSE(is_optional(plan, "memory.limit_in_bytes"));
}

TEST(Plan, TakesNoControllerForAllCores) {
  Policy policy = plain_policy();
  policy.limits.cpu_millis = 4000;
  Plan plan = plan_for(policy, plain_host());
  EXPECT_EQ(held_by(plan, "cpu"), "all cores of this host");
  EXPECT_EQ(cgroup_value(plan, "cpu.max"), "none");
}

TEST(Plan, FallsBackToRlimitsAndSaysWhatThatIsWorth) {
  Plan plan = plan_for(plain_policy(), host_without_cgroups());
  EXPECT_EQ(rlimit_value(plan, RLIMIT_DATA), 256u << 20);
  EXPECT_EQ(rlimit_value(plan, RLIMIT_NPROC), 129u);
  EXPECT_EQ(held_by(plan, "memory"), "rlimit");
  ASSERT_EQ(plan.degradations.size(), 1u);
  EXPECT_EQ(plan.degradations[0].field, "memory");
}

TEST(Plan, RefusesAFractionOfACoreThatNothingCanHold) {
  Policy policy = plain_policy();
  policy.limits.cpu_millis = 500;
  EXPECT_EQ(error_of(policy, host_without_cgroups()), "cannot limit cpu: none is mounted");
}

TEST(Plan, AcceptsLessWhereThePolicySaysSo) {
  Policy policy = plain_policy();
  policy.limits.cpu_millis = 500;
  policy.best_effort = {"cpu"};
  Plan plan = plan_for(policy, host_without_cgroups());
  EXPECT_EQ(plan.pin_to_cpus, 1u);
  EXPECT_TRUE(std::ranges::any_of(plan.degradations,
                                  [](const Degradation& one) { return one.field == "cpu"; }));
}

TEST(Plan, HoldsWholeCoresByAffinityWithoutACgroup) {
  Policy policy = plain_policy();
  policy.limits.cpu_millis = 2000;
  Plan plan = plan_for(policy, host_without_cgroups());
  EXPECT_EQ(plan.pin_to_cpus, 2u);
  EXPECT_EQ(held_by(plan, "cpu"), "affinity");
}

TEST(Plan, RefusesToLimitProcessesOfTheHostsRootByRlimit) {
  HostFacts facts = host_without_cgroups();
  facts.uid = 0;
  EXPECT_EQ(error_of(plain_policy(), facts), "");  // 0 of a namespace, somebody else outside
  facts.is_host_root = true;
  EXPECT_EQ(error_of(plain_policy(), facts), "cannot limit pids: none is mounted");
  facts.may_map_ids = true;  // with an id of its own it is counted like anybody
  EXPECT_EQ(error_of(plain_policy(), facts), "");
}

TEST(Plan, GivesRootsCellsIdsOfTheirOwn) {
  HostFacts facts = plain_host();
  facts.uid = facts.gid = 0;
  facts.may_map_ids = true;
  EXPECT_TRUE(plan_for(plain_policy(), facts).throwaway_ids);
  facts.without_idmap = {"/mnt/nfs"};
  Plan plan = plan_for(plain_policy(), facts);
  EXPECT_FALSE(plan.throwaway_ids);
  ASSERT_EQ(plan.degradations.size(), 1u);
  EXPECT_EQ(plan.degradations[0].field, "ids");
}

TEST(Plan, NeverGrantsNestingToTheHostsRoot) {
  HostFacts facts = plain_host();
  facts.uid = facts.gid = 0;
  facts.may_map_ids = true;
  Policy policy = plain_policy();
  policy.grants.push_back({GrantKind::kNestedNamespaces, "a test"});
  EXPECT_NE(plan_for(policy, facts).uid, 0u);
  facts.without_idmap = {"/mnt/nfs"};
  EXPECT_NE(error_of(policy, facts), "");
}

TEST(Plan, TellsOfAKernelWithoutLandlock) {
  HostFacts facts = plain_host();
  facts.landlock_abi = 0;
  Plan plan = plan_for(plain_policy(), facts);
  EXPECT_FALSE(plan.landlock);
  ASSERT_EQ(plan.degradations.size(), 1u);
  EXPECT_EQ(plan.degradations[0].field, "landlock");
}

TEST(Plan, AsksLandlockOnlyForWhatItsAbiKnows) {
  HostFacts facts = plain_host();
  facts.landlock_abi = 1;
  Plan plan = plan_for(plain_policy(), facts);
  ASSERT_TRUE(plan.landlock);
  EXPECT_EQ(plan.landlock->handled, (1u << 13) - 1);
  EXPECT_EQ(plan.landlock->scoped, 0u);
  for (const LandlockRule& rule : plan.landlock->rules)
    EXPECT_EQ(rule.access & ~plan.landlock->handled, 0u) << rule.path;
}

TEST(Plan, SaysAloudThatTheHostsNetworkBringsItsAbstractSockets) {
  HostFacts facts = plain_host();
  facts.landlock_abi = 5;
  EXPECT_TRUE(plan_for(plain_policy(), facts).degradations.empty());
  Policy policy = plain_policy();
  policy.grants.push_back({GrantKind::kHostNetwork, "a test"});
  Plan plan = plan_for(policy, facts);
  ASSERT_EQ(plan.degradations.size(), 1u);
  EXPECT_EQ(plan.degradations[0].field, "network");
  EXPECT_TRUE(plan.degradations[0].aloud);
  facts.landlock_abi = 6;
  EXPECT_TRUE(plan_for(policy, facts).degradations.empty());
}

TEST(Plan, AuthoritiesAreFoundInTheHostsTreeThoughItHasNone) {
  auto made = [](std::vector<std::string> covered) {
    Policy policy = plain_policy();
    policy.file_rules.host_view = true;
    HostFacts facts = plain_host();
    facts.gateway = GatewayFacts{};
    facts.gateway->ca_pem = facts.gateway->ca_bundle_pem = "authorities";
    facts.gateway->covered_bundles = std::move(covered);
    std::vector<std::string> files;
    for (const RootStep& step : plan_for(policy, facts).root)
      if (const MakeFile* file = std::get_if<MakeFile>(&step);
          file && file->content == "authorities")
        files.push_back(file->path);
    return files;
  };
  EXPECT_EQ(made({}), std::vector<std::string>{std::string(kBundleInDev)});
  EXPECT_EQ(made({"/etc/ssl/certs/ca-certificates.crt"}),
            std::vector<std::string>{"/ca/ca-bundle.pem"});
}

TEST(Plan, NeverTakesTheLandlockTierByItself) {
  HostFacts facts = plain_host();
  facts.userns_denied = "Operation not permitted";
  EXPECT_EQ(error_of(plain_policy(), facts),
            "cannot create a user namespace: Operation not permitted");
}

TEST(Plan, TheLandlockTierRefusesWhatOnlyNamespacesCanDo) {
  Policy policy = plain_policy();
  policy.tier = Tier::kLandlock;
  EXPECT_EQ(plan_for(policy, plain_host()).namespaces, 0u);
  EXPECT_EQ(plan_for(policy, plain_host()).filter, Filter::kNoSockets);
  policy.mounts.push_back({.source = "/data", .target = "/in", .origin = "--mount"});
  EXPECT_EQ(error_of(policy, plain_host()), "tier landlock can't show /data at /in (--mount)");
}

// A mount covers what is there; what appears later can only be judged by its name.
TEST(Plan, EveryOpeningAsksWhereADeniedPathIsNotThere) {
  Policy policy = plain_policy();
  policy.file_rules.host_view = true;
  auto deny = [&](const char* path, const char* origin) {
    policy.file_rules.deny_read.push_back({.text = path, .literal_head = 2, .origin = origin});
  };
  auto hide = [&](const char* path) {
    policy.file_rules.places.push_back({.kind = FilePlaceKind::kHidden, .path = path});
  };
  deny("/home/keys", "denyRead[0]");
  hide("/home/keys");
  EXPECT_EQ(plan_for(policy, plain_host()).filter, Filter::kNames);
  // A link stands in the list beside what it leads to.
  deny("/home/link", "denyRead[1]");
  deny("/srv/keys", "denyRead[1]");
  hide("/srv/keys");
  EXPECT_EQ(plan_for(policy, plain_host()).filter, Filter::kNames);
  deny("/home/later", "denyRead[2]");
  Plan plan = plan_for(policy, plain_host());
  EXPECT_EQ(plan.filter, Filter::kNamesAndReads);
  ASSERT_TRUE(plan.warden);
  EXPECT_EQ(plan.warden->deny_read.back().text, "/home/later");
}

TEST(Plan, RefusesTiersThatAreNotThere) {
  Policy policy = plain_policy();
  policy.tier = Tier::kMicrovm;
  EXPECT_EQ(error_of(policy, plain_host()), "tier microvm is not part of this build");
}

TEST(Plan, DescribesItselfInTheOrderInWhichItHappens) {
  std::vector<std::string> lines = describe(plan_for(plain_policy(), plain_host()));
  auto at = [&](std::string_view start) {
    return std::ranges::find_if(lines, [&](const std::string& l) { return l.starts_with(start); });
  };
  EXPECT_LT(at("clone"), at("ids"));
  EXPECT_LT(at("ids"), at("root"));
  EXPECT_LT(at("root"), at("pivot"));
  EXPECT_LT(at("pivot"), at("drop"));
  EXPECT_LT(at("drop"), at("landlock"));
  EXPECT_LT(at("landlock"), at("seccomp"));
  EXPECT_LT(at("seccomp"), at("exec"));
  EXPECT_NE(at("exec"), lines.end());
}

}  // namespace
}  // namespace caisson

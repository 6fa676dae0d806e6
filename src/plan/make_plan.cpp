// Policy × HostFacts → Plan. Pure: every choice that depends on the host is visible here.
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "plan/landlock_plan.h"
#include "plan/limits_plan.h"
#include "plan/plan.h"
#include "plan/root_plan.h"
#include "policy/places.h"

namespace caisson {

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

static uint64_t choose_namespaces(const Policy& policy) {
  struct Choice {
    uint64_t flag;
    const char* control;
  };
  constexpr Choice kAll[] = {
      {CLONE_NEWUSER, "namespace-user"},    {CLONE_NEWNS, "namespace-mount"},
      {CLONE_NEWPID, "namespace-pid"},      {CLONE_NEWNET, "namespace-network"},
      {CLONE_NEWIPC, "namespace-ipc"},      {CLONE_NEWUTS, "namespace-uts"},
      {CLONE_NEWCGROUP, "namespace-cgroup"}};
  uint64_t flags = 0;
  for (const Choice& choice : kAll)
    if (control_enabled(choice.control)) flags |= choice.flag;
  if (policy.has(GrantKind::kHostNetwork)) flags &= ~uint64_t{CLONE_NEWNET};
  return flags;
}

static std::string_view first_part(std::string_view path) {
  return path.substr(0, path.find('/', 1));
}

// Whether the cell's root has what the path begins with: a PATH has a dozen folders, half of them
// in home folders that no cell sees, and each of them would be looked for.
static bool may_be_there(std::string_view folder, const Policy& policy) {
  constexpr std::string_view kOwn[] = {"/tmp", "/dev", "/var", "/etc", "/run", "/proc"};
  std::string_view part = first_part(folder);
  auto begins_alike = [&](std::string_view path) { return first_part(path) == part; };
  if (policy.tier != Tier::kProcess || policy.file_rules.host_view) return true;
  return std::ranges::any_of(kOwn, begins_alike) ||
         std::ranges::any_of(system_folder_names(), begins_alike) ||
         std::ranges::any_of(policy.mounts, begins_alike, &Mount::target) ||
         std::ranges::any_of(policy.links, begins_alike, &Link::path);
}

// Full paths to try, in the order of PATH as the cell sees it; the command itself when it has a
// '/'.
static std::vector<std::string> exec_candidates(const std::string& command, const Policy& policy) {
  if (command.find('/') != std::string::npos) return {command};
  std::vector<std::string> candidates;
  for (const auto& [name, value] : policy.environment) {
    if (name != "PATH") continue;
    for (std::string_view directory : split(value, ':'))
      if (!directory.empty() && directory[0] == '/' &&  // others are the workspace's
          may_be_there(directory, policy))
        candidates.push_back(fmt::format("{}/{}", directory, command));
  }
  return candidates;
}

// Whether what a denied path leads to lies under a cover. A path that is a link stands in the list
// together with what it leads to.
static bool lies_under_cover(const FileRules& rules, const FilePattern& pattern) {
  const FilePlace* innermost = nullptr;
  for (const FilePlace& place : rules.places)  // parents come first
    if (is_within(pattern.text, place.path)) innermost = &place;
  if (!innermost) return false;
  return innermost->kind == FilePlaceKind::kHidden || innermost->kind == FilePlaceKind::kPrivate;
}

// Nothing is there that a mount could cover: when it appears, only its name can be judged.
static bool is_absent(const FileRules& rules, const FilePattern& pattern) {
  return std::ranges::none_of(rules.deny_read, [&](const FilePattern& one) {
    return one.origin == pattern.origin && lies_under_cover(rules, one);
  });
}

// A covered folder tells by itself when it is opened. A covered file can't be opened, and nothing
// is told of that: to hear of it, each opening has to ask, as it does for a pattern.
static void plan_denied_reads(const FileRules& rules, WardenPlan& warden) {
  for (const FilePlace& place : rules.places) {
    if (place.kind != FilePlaceKind::kHidden) continue;
    if (!place.is_directory)
      warden.reads = warden.reads || rules.report;
    else if (rules.report && !place.untold)
      warden.hidden.push_back(place);
  }
  auto is_covered_folder = [&](const FilePattern& pattern) {
    return std::ranges::any_of(rules.places, [&](const FilePlace& place) {
      return place.kind == FilePlaceKind::kHidden && place.is_directory &&
             place.path == pattern.text;
    });
  };
  for (const FilePattern& pattern : rules.deny_read) {
    auto parts = static_cast<size_t>(std::ranges::count(pattern.text, '/'));
    if (pattern.literal_head < parts || is_absent(rules, pattern)) warden.reads = true;
    if (!is_covered_folder(pattern)) warden.deny_read.push_back(pattern);
  }
  warden.allow_read = rules.allow_read;
  if (!warden.reads) warden.deny_read.clear();
}

// A cell that may hold cells can undo its mounts in a namespace of its own, and would need a warden
// in each: there the rules are mounts alone.
static void plan_warden(const Policy& policy, Plan& plan) {
  const FileRules& rules = policy.file_rules;
  bool judged = rules.host_view || !rules.deny_write.empty();
  if (!judged || rules.unlimited || !control_enabled("warden")) return;
  if (policy.has(GrantKind::kNestedNamespaces)) {
    plan.degradations.push_back(
        {"file rules", "the cell may make namespaces of its own",
         "a command that means harm can undo them; absent names and sockets are not protected"});
    return;
  }
  plan.warden.emplace();
  plan.warden->deny_write = rules.deny_write;
  plan.warden->sockets = rules.sockets;
  plan.warden->own_network = plan.namespaces & CLONE_NEWNET;
  plan.warden->report = rules.report;
  plan_denied_reads(rules, *plan.warden);
  plan.filter = plan.warden->reads ? Filter::kNamesAndReads : Filter::kNames;
}

static Result<void> check_host_view(const Policy& policy) {
  if (!policy.file_rules.host_view) return {};
  if (policy.tier != Tier::kProcess)
    return Error::plain(fmt::format("the host view is not for tier {}", tier_name(policy.tier)),
                        "use --tier process");
  if (policy.exec == Exec::kProgramOnly)
    return Error::plain("the host view can't be had together with --no-exec",
                        "leave one of them out");
  return {};
}

static Filter choose_filter(const Policy& policy) {
  if (policy.has(GrantKind::kNestedNamespaces)) return Filter::kNested;
  if (policy.tier == Tier::kLandlock) return Filter::kNoSockets;
  return Filter::kStandard;
}

static Result<void> check_landlock_tier(const Policy& policy, const HostFacts& facts) {
  if (facts.landlock_abi == 0)
    return Error::plain("tier landlock: this kernel has no Landlock",
                        "boot with lsm=landlock,… or use --tier process");
  // Without it the processes of the cell can't be found when it ends.
  if (!facts.lists_children)
    return Error::plain("tier landlock: this kernel doesn't list the children of a process",
                        "it was built without CONFIG_PROC_CHILDREN; use --tier process");
  for (const Mount& mount : policy.mounts)
    if (mount.source != mount.target)
      return Error::plain(fmt::format("tier landlock can't show {} at {} ({})", mount.source,
                                      mount.target, mount.origin),
                          "without namespaces a path is where it is: mount it at its own path, or "
                          "use --tier process");
  // Landlock allows; what lies in an allowed folder it can't take out again.
  for (const Cover& cover : policy.covers)
    return Error::plain(fmt::format("tier landlock can't hide {} ({})", cover.path, cover.origin),
                        "mount a folder that does not hold it, or use --tier process");
  for (const Grant& grant : policy.grants)
    return Error::plain(fmt::format("tier landlock can't grant {}", grant_name(grant.kind)),
                        "use --tier process");
  return {};
}

static void note_landlock_tier_limits(Plan& plan) {
  auto lacks = [&](const char* field, const char* effect) {
    plan.degradations.push_back({field, "--tier landlock has no namespaces", effect});
  };
  lacks("processes",
        "host processes are visible to kill(2) by number; Landlock stops the signal on ABI 6");
  lacks("end",
        "processes are found by their parents: one that is made while the rest is being killed "
        "is killed after it, and SIGKILL to the cell's first process frees the others");
  lacks("tmp", "there is no private /tmp; nothing but what --allow-write names can be written");
  lacks("proc", "/proc can't be read");
  lacks("pids", "the limit counts all processes of the user on this host");
  lacks("metadata",
        "no file's mode, owner or attributes can be changed, not even of the cell's own");
}

static Result<void> check_tier(const Policy& policy, const HostFacts& facts) {
  switch (policy.tier) {
    case Tier::kProcess:
      if (facts.userns_denied)
        return Error::plain(fmt::format("cannot create a user namespace: {}", *facts.userns_denied),
                            "`caisson doctor` shows the fix");
      return {};
    case Tier::kLandlock:
      return check_landlock_tier(policy, facts);
    case Tier::kContainer:
    case Tier::kMicrovm:
      break;
  }
  return Error::plain(fmt::format("tier {} is not part of this build", tier_name(policy.tier)),
                      "use --tier process (the default) or --tier landlock");
}

constexpr uid_t kNestingId = 1000;
constexpr size_t kMostMounts = 100;  // one message takes their descriptors to the cell

static Result<void> choose_ids(const Policy& policy, const HostFacts& facts, Plan& plan) {
  plan.uid = facts.uid;
  plan.gid = facts.gid;
  if (policy.mounts.size() > kMostMounts)
    return Error::plain(fmt::format("{} mounts, {} is the most", policy.mounts.size(), kMostMounts),
                        "mount a folder above them");
  if (!facts.may_map_ids || !(plan.namespaces & CLONE_NEWUSER)) return {};
  // The host view is the host's mounts as they are, of every kind, and most kinds can't be
  // id-mapped: root's cell is the host's uid 0 there, without any capability (decision 0021).
  if (policy.file_rules.host_view) {
    if (policy.has(GrantKind::kNestedNamespaces)) plan.uid = plan.gid = kNestingId;  // see below
    return {};
  }
  plan.throwaway_ids = facts.without_idmap.empty() && control_enabled("throwaway-ids");
  // The kernel lets nobody map uid 0 of a namespace who had no CAP_SETFCAP in it
  // (user_namespaces(7)), so a cell that may hold cells is not uid 0 inside.
  if (plan.throwaway_ids && policy.has(GrantKind::kNestedNamespaces))
    plan.uid = plan.gid = kNestingId;
  if (facts.without_idmap.empty()) return {};
  plan.degradations.push_back(
      {"ids",
       fmt::format("{} lies on a filesystem without idmapped mounts", facts.without_idmap[0]),
       "the cell's processes are the host's uid 0, though without any capability"});
  // uid 0 of the host may write most of /proc/sys without a capability, and a nested cell needs a
  // /proc that can be written.
  if (policy.has(GrantKind::kNestedNamespaces))
    return Error::plain(
        fmt::format("cannot grant nested namespaces to root here: {} lies on a filesystem without "
                    "idmapped mounts",
                    facts.without_idmap[0]),
        "run caisson as an ordinary user, or from another folder");
  return {};
}

constexpr uint32_t kPoolSockets = 64;  // connections to published ports at once

static void plan_gateway(const Policy& policy, const HostFacts& facts, Plan& plan) {
  if (!policy.network.needs_gateway()) return;
  plan.gateway.emplace();
  plan.gateway->forward = policy.network.forward;
  plan.gateway->forward.insert(plan.gateway->forward.end(), policy.network.loopback.begin(),
                               policy.network.loopback.end());
  if (!policy.network.publish.empty()) plan.gateway->pool_sockets = kPoolSockets;
  if (!facts.gateway) return;
  for (const auto& [name, value] : facts.gateway->variables) {
    std::erase_if(plan.environment,
                  [&](const std::string& one) { return one.starts_with(name + "="); });
    plan.environment.push_back(fmt::format("{}={}", name, value));
  }
}

Result<Plan> make_plan(const Policy& policy, const Command& command, const HostFacts& facts) {
  TRY(check_tier(policy, facts));
  TRY(check_host_view(policy));
  Plan plan;
  plan.tier = policy.tier;
  plan.hostname = policy.hostname;
  plan.exec = policy.exec;
  plan.terminal = policy.terminal;
  plan.workdir = policy.workdir;
  plan.argv = command.argv;
  plan.candidates = exec_candidates(command.argv.at(0), policy);
  for (const auto& [name, value] : policy.environment)
    plan.environment.push_back(fmt::format("{}={}", name, value));
  plan.limits = policy.limits;
  if (!control_enabled("timeout")) plan.limits.wall.reset();
  if (!control_enabled("output-limit")) plan.limits.output_bytes = uint64_t{1} << 40;
  plan.filter = choose_filter(policy);

  if (policy.tier == Tier::kProcess) {
    plan.namespaces = choose_namespaces(policy);
    plan.bring_up_loopback = plan.namespaces & CLONE_NEWNET;
    plan_gateway(policy, facts, plan);
    TRY(choose_ids(policy, facts, plan));
    CellIds ids{plan.uid, plan.gid, facts.is_host_root && !plan.throwaway_ids};
    plan.host_view = policy.file_rules.host_view;
    plan.root = plan.host_view ? plan_host_view(policy, facts, ids) : plan_root(policy, facts, ids);
    plan_warden(policy, plan);
  } else {
    note_landlock_tier_limits(plan);
  }
  TRY(plan_limits(policy, facts, plan));
  plan_landlock(policy, facts, plan);
  return plan;
}

}  // namespace caisson

#include "plan/landlock_plan.h"

#include "base/control.h"

namespace caisson {

namespace {

// The kernel's numbers (linux/landlock.h); named here because older headers lack the newer ones.
constexpr uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadDir = 1 << 3;
constexpr uint64_t kRefer = 1 << 13, kTruncate = 1 << 14, kIoctlDev = 1 << 15;
constexpr uint64_t kScopeAbstractSocket = 1 << 0, kScopeSignal = 1 << 1;
constexpr int kAbiOfScopes = 6;  // Linux 6.12

constexpr uint64_t kAbi1 = (1 << 13) - 1;
constexpr uint64_t kRead = kReadFile | kReadDir | kExecute;
constexpr uint64_t kFileRights = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDev;
constexpr uint64_t kDevice = kReadFile | kReadDir | kWriteFile | kTruncate | kIoctlDev;

uint64_t rights_of_abi(int abi) {
  uint64_t rights = kAbi1;
  if (abi >= 2) rights |= kRefer;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDev;
  return rights;
}

class LandlockPlanner {
 public:
  LandlockPlanner(const Policy& policy, int abi) : policy_(policy) {
    plan_.abi = abi;
    plan_.handled = rights_of_abi(abi);
    if (abi >= kAbiOfScopes) plan_.scoped = kScopeAbstractSocket | kScopeSignal;
  }

  // The mounts leave nothing in the tree that may not be read; writing is granted by folder.
  LandlockPlan process_tier() {
    // A Landlock domain that handles files may not mount (landlock(7)), so a nested caisson could
    // not start: the grant gives the file rules up and keeps the scopes.
    if (policy_.has(GrantKind::kNestedNamespaces)) {
      plan_.handled = 0;
      return std::move(plan_);
    }
    rule("/", kRead);
    rule("/dev", kDevice);
    rule("/dev/shm", plan_.handled);
    if (!policy_.file_rules.host_view) rule("/tmp", plan_.handled);
    rule("/proc", kRead | kWriteFile);
    writable_mounts();
    writable_places();
    return std::move(plan_);
  }

  LandlockPlan landlock_tier(const HostFacts& facts) {
    for (const SystemEntry& entry : facts.system)
      if (entry.link_target.empty()) rule(entry.path, kRead);
    for (const std::string& name : facts.etc)  // a trailing slash marks a folder
      rule("/etc/" + name, name.back() == '/' ? kReadFile | kReadDir : kReadFile);
    for (const char* name : {"passwd", "group", "nsswitch.conf", "hosts", "resolv.conf"})
      rule(std::string("/etc/") + name, kReadFile);
    for (const char* name : {"null", "zero", "full", "random", "urandom"})
      rule(std::string("/dev/") + name, kReadFile | kWriteFile);
    for (const Mount& mount : policy_.mounts)
      if (mount.access == Access::kReadOnly)
        rule(mount.target, mount.is_directory ? kRead : kReadFile | kExecute);
    writable_mounts();
    // Here a path is the host's: what stood there when the policy was made must stand there still.
    for (LandlockRule& rule : plan_.rules)
      for (const Mount& mount : policy_.mounts)
        if (mount.target == rule.path) rule.device = mount.device, rule.inode = mount.inode;
    return std::move(plan_);
  }

 private:
  void rule(std::string path, uint64_t access) {
    plan_.rules.push_back({std::move(path), access & plan_.handled});
  }
  void writable_mounts() {
    for (const Mount& mount : policy_.mounts)
      if (mount.access == Access::kReadWrite)
        rule(mount.target, mount.is_directory ? plan_.handled : kFileRights);
  }

  // Of the host view. What is not to be written inside them is a mount, or the warden's.
  void writable_places() {
    if (policy_.file_rules.unlimited) rule("/", plan_.handled);
    for (const FilePlace& place : policy_.file_rules.places)
      if (place.kind == FilePlaceKind::kWritable || place.kind == FilePlaceKind::kPrivate)
        rule(place.path, place.is_directory ? plan_.handled : kFileRights);
  }

  const Policy& policy_;
  LandlockPlan plan_;
};

// Abstract names belong to a network namespace: with the host's own, Landlock's scope is all that
// keeps a program from X11 and D-Bus (T43).
void note_abstract_sockets(const Policy& policy, const HostFacts& facts, Plan& plan) {
  if (!policy.has(GrantKind::kHostNetwork) || facts.landlock_abi >= kAbiOfScopes) return;
  plan.degradations.push_back({"network", "Landlock has scopes for them since Linux 6.12",
                               "with the host's network come its abstract sockets (X11, D-Bus)",
                               true});
}

}  // namespace

void plan_landlock(const Policy& policy, const HostFacts& facts, Plan& plan) {
  note_abstract_sockets(policy, facts, plan);
  if (facts.landlock_abi == 0) {
    plan.degradations.push_back({"landlock", "this kernel has no Landlock",
                                 "mounts, capabilities and seccomp stand without it"});
    return;
  }
  if (!control_enabled("landlock")) return;
  LandlockPlanner planner(policy, facts.landlock_abi);
  LandlockPlan rules =
      plan.tier == Tier::kLandlock ? planner.landlock_tier(facts) : planner.process_tier();
  if (rules.handled || rules.scoped) plan.landlock = std::move(rules);
}

}  // namespace caisson

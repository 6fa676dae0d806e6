// What this host can enforce, one subject at a time: pure functions from facts to findings.
#pragma once

#include <string>
#include <vector>

#include "host/deep_facts.h"

namespace caisson {

// kFail: the default policy can't be enforced here. kWarn: it can, with something less or missing.
enum class CheckStatus { kOk, kInfo, kWarn, kFail };
const char* check_status_name(CheckStatus);

struct Check {
  std::string name;  // "user namespaces"
  CheckStatus status;
  std::string found;                  // one line
  std::string why = {};               // why it matters; empty when nothing is wrong
  std::vector<std::string> fix = {};  // lines to type, or of a file to write; '#' begins a remark
  bool in_full = true;                // false: the default policy gets less than it asks
  bool operator==(const Check&) const = default;
};
using Checks = std::vector<Check>;

// Why no user namespace can be made. The order is that in which the reasons are told apart.
enum class UserNamespaceRefusal {
  kNone,
  kInsideCell,  // caisson's own filter
  kNotInKernel,
  kLimitZero,        // user.max_user_namespaces = 0
  kLimitUsedUp,      // here, or in a namespace above (bwrap --disable-userns)
  kTooDeep,          // 32 levels
  kContainerFilter,  // Docker's seccomp profile and its kin
  kSwitchedOff,      // kernel.unprivileged_userns_clone = 0
  kAppArmor,
  kSelinux,
  kChroot,
  kUnmappedIds,
  kUnknown,
};
UserNamespaceRefusal why_no_user_namespace(const DeepFacts&);

// One file each, check_*.cpp.
void check_surroundings(const DeepFacts&, Checks&);
void check_user_namespaces(const DeepFacts&, Checks&);
void check_namespaces(const DeepFacts&, Checks&);
void check_mounts(const DeepFacts&, Checks&);
void check_processes(const DeepFacts&, Checks&);
void check_seccomp(const DeepFacts&, Checks&);
void check_landlock(const DeepFacts&, Checks&);
void check_cgroups(const DeepFacts&, Checks&);
void check_audit(const DeepFacts&, Checks&);
void check_extras(const DeepFacts&, Checks&);

Checks check_all(const DeepFacts&);
bool enforced_in_full(const Checks&);

// What --tier landlock can't do on this host, one line each; nothing: it is not to be had at all.
std::optional<std::vector<std::string>> landlock_tier_lacks(const DeepFacts&);

// The options that let cells be made inside a container of this kind.
std::vector<std::string> container_fix(ContainerKind);
// The AppArmor profile that lets the binary at `program` make user namespaces.
std::vector<std::string> apparmor_profile_fix(const std::string& program);

}  // namespace caisson

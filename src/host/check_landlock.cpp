#include <errno.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "host/checks.h"
#include "plan/plan.h"

namespace caisson {

namespace {

constexpr int kScopes = 6;  // the ABI from which on caisson has all that it uses

struct AbiStep {
  int abi;
  const char *kernel, *adds;
};
constexpr AbiStep kAbiSteps[] = {
    {1, "5.13", "files"},
    {2, "5.19", "moving files between folders"},
    {3, "6.2", "truncation"},
    {4, "6.7", "TCP ports"},
    {5, "6.10", "ioctl on devices"},
    {6, "6.12", "abstract sockets and signals"},
};

std::string what_is_missing(int abi) {
  std::vector<std::string> missing;
  for (const AbiStep& step : kAbiSteps)
    if (step.abi > abi)
      missing.push_back(fmt::format("{} (ABI {}, {})", step.adds, step.abi, step.kernel));
  return join(missing, ", ");
}

Check not_there(const DeepFacts& facts) {
  constexpr const char* kName = "landlock";
  constexpr const char* kWhy =
      "it is the second wall behind mounts, capabilities and seccomp, and the only one of "
      "`--tier landlock`";
  if (facts.landlock.errnum == EOPNOTSUPP)
    return {kName,
            CheckStatus::kWarn,
            "in this kernel, but not switched on",
            kWhy,
            {"# add it to the kernel's command line (GRUB: GRUB_CMDLINE_LINUX in "
             "/etc/default/grub, then `sudo update-grub`), and boot again:",
             fmt::format("lsm=landlock{}{}", facts.active_lsms.empty() ? ",…" : ",",
                         facts.active_lsms)}};
  if (facts.container != ContainerKind::kNone && facts.landlock.errnum == EPERM)
    return {kName, CheckStatus::kWarn, "the container's filter refuses it", kWhy,
            container_fix(facts.container)};
  return {
      kName,
      CheckStatus::kWarn,
      "this kernel has none",
      kWhy,
      {"# boot a kernel of 6.12 or later with CONFIG_SECURITY_LANDLOCK=y and landlock in lsm="}};
}

}  // namespace

void check_landlock(const DeepFacts& facts, Checks& checks) {
  constexpr const char* kName = "landlock";
  int abi = facts.host.landlock_abi;
  if (abi == 0) {
    checks.push_back(not_there(facts));
  } else if (facts.landlock.failed()) {
    // E2BIG: sixteen layers are around this process already.
    checks.push_back({kName,
                      CheckStatus::kFail,
                      fmt::format("ABI {}, but {}: {}", abi, facts.landlock.step,
                                  errno_text(facts.landlock.errnum)),
                      "every cell is restricted by it where the kernel has it",
                      {"# run caisson outside of the sandboxes that are around it"}});
  } else if (abi < kScopes) {
    checks.push_back({kName,
                      CheckStatus::kWarn,
                      fmt::format("ABI {}; lacks {}", abi, what_is_missing(abi)),
                      "with --allow-network a cell reaches the abstract sockets of the host (X11, "
                      "D-Bus); with --tier landlock it can signal the caller's processes too",
                      {"# boot a kernel of 6.12 or later"}});
  } else {
    checks.push_back({kName, CheckStatus::kOk, fmt::format("ABI {}", abi)});
  }
}

// What the plan of that tier says it has less of, and what lies in the nature of Landlock.
std::optional<std::vector<std::string>> landlock_tier_lacks(const DeepFacts& facts) {
  if (facts.host.landlock_abi == 0 || facts.landlock.failed()) return std::nullopt;
  Policy policy;
  policy.tier = Tier::kLandlock;
  // Any limit will do: what can't be held is said of those that are asked for.
  policy.limits.memory_bytes = 1 << 30;
  policy.limits.pids = policy.limits.files = 256;
  Result<Plan> plan = make_plan(policy, Command{{"true"}}, facts.host);
  if (!plan) return std::nullopt;
  std::vector<std::string> lines;
  for (const Degradation& one : plan->degradations)
    lines.push_back(fmt::format("{}: {}", one.field, one.effect));
  lines.push_back("network: there is no private one; sockets are refused altogether");
  lines.push_back(
      "mounts: a path is where it is; --mount works for the same path on both sides only");
  lines.push_back("names: stat(2) of any file works, so that its existence and size are no secret");
  if (facts.host.landlock_abi < kScopes)
    lines.push_back(fmt::format("older kernel: Landlock here lacks {}",
                                what_is_missing(facts.host.landlock_abi)));
  return lines;
}

}  // namespace caisson

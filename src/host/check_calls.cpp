// System calls that a cell is made with: processes and seccomp.
#include <errno.h>

#include <fmt/format.h>

#include "base/error.h"
#include "host/checks.h"

namespace caisson {

namespace {

std::string say(const Attempt& attempt) {
  if (!attempt.failed()) return attempt.step + ": not tried";
  return fmt::format("{}: {}", attempt.step, errno_text(attempt.errnum));
}

std::vector<std::string> fix_for(const Attempt& failed, const DeepFacts& facts,
                                 const char* kernel_fix) {
  if (facts.inside_cell)
    return {"# grant it to the outer one:", "caisson exec --allow-nested … caisson exec …"};
  if (facts.container != ContainerKind::kNone || facts.filtered || failed.errnum == EPERM)
    return container_fix(facts.container);
  return {kernel_fix};
}

}  // namespace

void check_processes(const DeepFacts& facts, Checks& checks) {
  constexpr const char* kName = "process handles";
  for (const Attempt* attempt : {&facts.clone3, &facts.pidfd, &facts.close_range, &facts.openat2}) {
    if (attempt->worked()) continue;
    checks.push_back({kName, CheckStatus::kFail, say(*attempt),
                      "a cell is started, held and ended by these calls",
                      fix_for(*attempt, facts, "# boot a kernel of 5.12 or later")});
    return;
  }
  checks.push_back({kName, CheckStatus::kOk, "clone3, pidfd, close_range and openat2 work"});
}

void check_seccomp(const DeepFacts& facts, Checks& checks) {
  constexpr const char* kKernelFix = "# boot a kernel with CONFIG_SECCOMP_FILTER=y";
  if (facts.filter.worked())
    checks.push_back({"seccomp filter", CheckStatus::kOk, "can be installed"});
  else
    checks.push_back({"seccomp filter", CheckStatus::kFail, say(facts.filter),
                      "without it the whole kernel is within a cell's reach",
                      fix_for(facts.filter, facts, kKernelFix)});

  constexpr const char* kNotification = "seccomp notification";
  if (facts.notification.worked()) {
    checks.push_back({kNotification, CheckStatus::kOk, "works"});
    return;
  }
  std::string found = say(facts.notification);
  if (facts.notification.errnum == EBUSY)
    found += ": a filter around this process has a listener, and there can be one";
  checks.push_back({kNotification, CheckStatus::kWarn, std::move(found),
                    "--no-exec needs it; everything else works without",
                    fix_for(facts.notification, facts, kKernelFix)});
}

}  // namespace caisson

#include "host/checks.h"

#include <algorithm>

namespace caisson {

const char* check_status_name(CheckStatus status) {
  switch (status) {
    case CheckStatus::kOk:
      return "ok";
    case CheckStatus::kInfo:
      return "info";
    case CheckStatus::kWarn:
      return "warn";
    case CheckStatus::kFail:
      break;
  }
  return "fail";
}

Checks check_all(const DeepFacts& facts) {
  Checks checks;
  for (auto* check :
       {check_surroundings, check_user_namespaces, check_namespaces, check_mounts, check_processes,
        check_seccomp, check_landlock, check_cgroups, check_audit, check_extras})
    check(facts, checks);
  return checks;
}

bool enforced_in_full(const Checks& checks) {
  return std::ranges::none_of(checks, [](const Check& check) {
    return check.status == CheckStatus::kFail || !check.in_full;
  });
}

}  // namespace caisson

#include "policy/policy.h"

#include <algorithm>
#include <tuple>

namespace caisson {

const char* tier_name(Tier tier) {
  switch (tier) {
    case Tier::kProcess:
      return "process";
    case Tier::kLandlock:
      return "landlock";
    case Tier::kContainer:
      return "container";
    case Tier::kMicrovm:
      return "microvm";
  }
  return "unknown";
}

const char* grant_name(GrantKind kind) {
  switch (kind) {
    case GrantKind::kHostNetwork:
      return "network";
    case GrantKind::kNestedNamespaces:
      return "nested";
  }
  return "unknown";
}

bool Policy::operator==(const Policy& other) const {
  auto fields = [](const Policy& p) {
    return std::tie(p.tier, p.limits, p.best_effort, p.mounts, p.links, p.covers, p.workdir,
                    p.environment, p.network, p.grants, p.exec, p.terminal, p.hostname);
  };
  return fields(*this) == fields(other);
}

bool Policy::has(GrantKind kind) const {
  return std::ranges::any_of(grants, [&](const Grant& grant) { return grant.kind == kind; });
}

bool Policy::is_best_effort(const std::string& field) const {
  return std::ranges::find(best_effort, field) != best_effort.end();
}

}  // namespace caisson

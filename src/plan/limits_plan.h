// Which mechanism holds which limit on this host.
#pragma once

#include "plan/plan.h"

namespace caisson {

// Fills rlimits, cgroup, pin_to_cpus, tmp sizes, enforcement and degradations of `plan`.
Result<void> plan_limits(const Policy&, const HostFacts&, Plan&);

}  // namespace caisson

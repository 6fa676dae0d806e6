// Landlock's part: a second wall behind the mounts, and the only one of the landlock tier.
#pragma once

#include "plan/plan.h"

namespace caisson {

void plan_landlock(const Policy&, const HostFacts&, Plan&);

}  // namespace caisson

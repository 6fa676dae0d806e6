// Whether a removal has to ask: only where something may lie that nobody may take away.
#pragma once

#include "plan/plan.h"

namespace caisson {

// What is protected by its own path is a mount, and can't be removed. What a pattern with "**"
// protects lies in folders below its head: where there are none when the cell begins, nothing does.
bool may_hold_protected(const WardenPlan&);

}  // namespace caisson

// Control groups of our own, where only systemd can give them.
#pragma once

#include "base/result.h"
#include "plan/host_facts.h"

namespace caisson {

// cgroup v2 in a login session: systemd's user manager gives a scope for the asking. This process
// is in it from then on, and the facts are looked at anew. Nothing happens where there are groups
// already or nobody to ask; a refusal leaves the facts as they are.
Result<void> ask_for_delegation(CgroupFacts&);

}  // namespace caisson

#include "host/delegation.h"

#include <unistd.h>

#include "host/cgroup_probe.h"
#include "sys/systemd_scope.h"

namespace caisson {

Result<void> ask_for_delegation(CgroupFacts& facts) {
  if (!facts.slots.empty() || facts.user_manager.empty()) return {};
  TRY(enter_delegated_scope(facts.user_manager, ::getpid()));
  facts = probe_cgroups();
  return {};
}

}  // namespace caisson

// What a cell must not move away from, because the next run with the same settings would look for
// it in vain: the way to what is hidden or masked.
#pragma once

#include <string>
#include <vector>

#include "policy/host_files.h"
#include "policy/policy.h"

namespace caisson {

// One rule for each stop on the ways to what `deny_read` names and to the files that are masked:
// the links, which can't be changed, and what is hidden, which is a mount and does not move.
// Nothing that is absent is a stop. `deny_read` has to be as it was written; what comes out is
// resolved.
std::vector<FilePattern> kept_ways(const std::vector<FilePattern>& deny_read,
                                   const std::vector<MaskSpec>& masks, const HostFiles&);

}  // namespace caisson

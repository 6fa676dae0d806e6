// cgroup v2: makes a folder hand out controllers to the folders below it.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/result.h"

namespace caisson {

// Enables the controllers below `directory` (open as `parent`). A folder other than the top of the
// hierarchy can't hand out controllers while it holds processes, so this process steps aside into a
// leaf of it when it has to, and takes its companion (0: none) along. Returns the name of that
// leaf, or "" when this process is in none.
Result<std::string> grant_controllers(int parent, const std::string& directory,
                                      std::span<const std::string> controllers, pid_t companion);

}  // namespace caisson

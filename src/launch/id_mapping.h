// Root's cells: ids that own nothing outside, and mounts through which they own what root owns.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launch/child_program.h"

namespace caisson {

// Writes the id maps of the user namespace of `pid`: `uid` and `gid` inside are a random number
// outside, another one for every cell. Gives a namespace in which root is that number, by which
// mounts are mapped.
struct ThrowawayIds {
  uint32_t outside;
  UniqueFd mapping;
};
Result<ThrowawayIds> map_throwaway_ids(pid_t pid, uid_t uid, gid_t gid);

// A detached, id-mapped clone of the step's source. The caller's root can reach what the cell can't.
Result<UniqueFd> open_mapped_mount(const Step& bind, int user_namespace);

}  // namespace caisson

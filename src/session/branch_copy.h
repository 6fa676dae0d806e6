// What was kept of a branch, copied into the workspace of the session that takes it up. The cell of
// the session that it was branched from may live, and hold descriptors of every file and folder of
// it: what is moved stays within its reach, whatever the new place is called. New inodes are not;
// and a file that two branches had in common is one of each.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "loop/task.h"

namespace caisson::session {

// The same as for a branch when it is made (py/layers.py), and four times the bytes.
struct CopyBounds {
  uint64_t bytes = uint64_t{4} << 30;
  size_t entries = 100'000, depth = 64;
};

// In turns with others of the loop. Both are folders, by descriptors that are open all the while;
// `to` is empty and nobody else's. Sockets, FIFOs and devices are left out. An error says what else
// is missing, and all that could be copied is there.
Task<Result<void>> copy_branch(Loop&, int from, int to, CopyBounds = {});

}  // namespace caisson::session

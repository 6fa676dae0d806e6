// Snapshots on the host: a line that says what follows, then the bytes that the cell made. They are
// never read for what they mean here, only inside a cell. They can be large, and the loop has
// others to serve: files are written and read in pieces, with a turn for the others in between.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/task.h"

namespace caisson::session {

constexpr uint64_t kMostSnapshot = uint64_t{512} << 20;
constexpr int64_t kSnapshotSeconds = 30 * 24 * 3600;  // older ones are no longer taken up

struct SnapshotTarget {
  std::string path;
  uint64_t most_bytes = kMostSnapshot;
  std::function<bool()> is_wanted;  // asked at the end: something may have come between
};

// Copies what is in `from` (a memfd that a cell has written) to the path, 0600, whole or not at
// all.
Task<Result<void>> write_snapshot(Loop&, SnapshotTarget, UniqueFd from);
// A copy of the bytes in a memfd, after size, age and hash were found to fit.
Task<Result<UniqueFd>> read_snapshot(Loop&, std::string path);

// Pure parts.
struct SnapshotHead {
  int64_t made = 0;
  uint64_t size = 0;
  std::string sha256;
  size_t length = 0;  // of the head itself
};
std::string snapshot_head(uint64_t size, std::string_view sha256, int64_t now);
Result<SnapshotHead> parse_snapshot_head(std::string_view file, int64_t now);
// Nothing: as large as it says. The cell can make a file of any size that takes no memory.
Result<void> check_snapshot_size(uint64_t size, uint64_t allocated, uint64_t most);

}  // namespace caisson::session

// Snapshots on the host: a line that says what follows, then the bytes that the cell made. They are
// never read for what they mean here, only inside a cell.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::session {

constexpr uint64_t kMostSnapshot = uint64_t{512} << 20;
constexpr int64_t kSnapshotSeconds = 30 * 24 * 3600;  // older ones are no longer taken up

// Copies what is in `from` (a memfd that a cell has written) to `path`, 0600, whole or not at all.
Result<void> write_snapshot(const std::string& path, int from);
// A sealed copy of the bytes, after size, age and hash were found to fit.
Result<UniqueFd> read_snapshot(const std::string& path);
// Pure parts, for the tests.
std::string snapshot_head(std::string_view bytes, int64_t now);
Result<std::string_view> snapshot_body(std::string_view file, int64_t now);

}  // namespace caisson::session

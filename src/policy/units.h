// The small grammars that people type: sizes, durations, CPU counts, mounts.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "policy/settings.h"

namespace caisson {

// "512", "64K", "256M", "1.5G", "2GiB"; powers of 1024. Refuses negatives, overflow, other units.
Result<uint64_t> parse_size(std::string_view text);
// "30" (seconds), "10s", "250ms", "1.5m", "2h", "1h30m"; "none" is nothing.
Result<std::optional<std::chrono::milliseconds>> parse_duration(std::string_view text);
// "0.5", "2": cores as thousandths, 10 at least; "0" is all cores.
Result<uint32_t> parse_cpu(std::string_view text);
// A whole number within [low, high].
Result<uint32_t> parse_count(std::string_view text, uint32_t low, uint32_t high);
Result<bool> parse_bool(std::string_view text);
// SRC:DST[:ro|rw]; "\:" is a colon in a name, "\\" a backslash. Both absolute or, for SRC, relative
// to the caller.
Result<MountRequest> parse_mount(std::string_view text, const Origin& origin);

constexpr size_t kMaxPath = 4095;  // PATH_MAX without its NUL

// The text as an error shows it: quoted, printable, not longer than a line.
std::string in_quotes(std::string_view text);

// A path made absolute and lexically clean ("/a/../b" → "/b"); refuses NUL and an empty path.
Result<std::string> clean_path(std::string_view path, std::string_view base);

}  // namespace caisson

// Points in time as text: UTC, milliseconds, RFC 3339; without the locale machinery of strftime.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson {

// Milliseconds since 1970-01-01T00:00:00Z, by the wall clock.
int64_t now_ms();

// "2026-07-31T09:30:05.042Z": always 24 characters for the years 0 to 9999.
std::string format_timestamp(int64_t ms);

// RFC 3339, with or without a fraction, 'Z' or an offset; a date alone is its first moment in UTC.
Result<int64_t> parse_timestamp(std::string_view text);

}  // namespace caisson

// The words behind `caisson log`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson {

struct LogOptions {
  bool verify = false, json = false, follow = false, help = false;
  std::optional<int64_t> since_ms;  // not before this moment
  std::string status;               // as the table shows it; empty is any
  std::string id_prefix;
  std::optional<uint64_t> last;  // so many executions at the end
  std::string file;              // empty: the caller's own record

  bool filters() const { return since_ms || !status.empty() || !id_prefix.empty() || last; }
};

// `now_ms` is what --since 1h counts back from.
Result<LogOptions> parse_log_options(std::span<const std::string> args, int64_t now_ms);
extern const std::string_view kLogHelp;

}  // namespace caisson

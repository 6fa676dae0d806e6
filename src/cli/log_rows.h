// Events of the record, paired to executions, as rows of a table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/log_options.h"
#include "run/audit_line.h"

namespace caisson {

// One execution, or one event that belongs to none.
struct LogRow {
  uint64_t first_line = 0, last_line = 0;  // of its events in the file
  int64_t time_ms = 0;
  std::string id, status, tier, command;
  std::optional<int64_t> returncode;
  std::optional<double> duration_ms;
  int64_t pid = 0;     // of the caisson that wrote the start
  bool ended = false;  // no event is to follow
};

// Does the caisson with this pid, which wrote an event at that time, still run?
using StillRuns = std::function<bool(int64_t pid, int64_t time_ms)>;
bool process_still_runs(int64_t pid, int64_t time_ms);

class LogRows {
 public:
  explicit LogRows(StillRuns still_runs = process_still_runs)
      : still_runs_(std::move(still_runs)) {}

  // The row as it stands with this event. A start without an end is "running" for now.
  LogRow add(const AuditEntry& entry, uint64_t line);
  // The executions that no end was seen of: "running", or "no-end" when their caisson is gone.
  std::vector<LogRow> open() const;

 private:
  StillRuns still_runs_;
  std::unordered_map<std::string, LogRow> open_;  // by id
};

bool matches(const LogRow& row, const LogOptions& options);

// Text from a cell made harmless and one line long.
std::string shown(std::string_view text);
std::string format_log_header();
// At most `width` characters, if that is given; ends with a newline.
std::string format_log_row(const LogRow& row, std::optional<size_t> width);

}  // namespace caisson

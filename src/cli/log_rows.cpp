#include "cli/log_rows.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "base/terminal_filter.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "run/timestamp.h"

namespace caisson {

namespace {

namespace json = boost::json;

constexpr size_t kMaxCommand = 1024;  // rows are held until the end is known
constexpr size_t kMaxWord = 64;       // any other cell of the table

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

std::string text_in_row(const json::object& object, std::string_view key, size_t limit = kMaxWord) {
  const json::value* value = object.if_contains({key.data(), key.size()});
  if (!value || !value->is_string()) return {};
  return std::string(view(value->get_string()).substr(0, limit));
}

std::optional<double> number_in_row(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains({key.data(), key.size()});
  if (!value || !value->is_number()) return {};
  if (value->is_double()) return value->get_double();
  return value->is_int64() ? static_cast<double>(value->get_int64())
                           : static_cast<double>(value->get_uint64());
}

std::optional<int64_t> integer_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains({key.data(), key.size()});
  if (!value || !value->is_int64()) return {};
  return value->get_int64();
}

std::string command_of(const json::object& event) {
  const json::value* argv = event.if_contains("argv");
  if (!argv || !argv->is_array()) return {};
  std::string command;
  for (const json::value& word : argv->get_array()) {
    if (!word.is_string()) continue;
    if (!command.empty()) command += ' ';
    command += shell_quote(view(word.get_string()).substr(0, kMaxCommand));
    if (command.size() > kMaxCommand) break;
  }
  if (command.size() > kMaxCommand) command = command.substr(0, kMaxCommand) + "…";
  return command;
}

void fill_start(LogRow& row, const json::object& event) {
  row.tier = text_in_row(event, "tier");
  row.command = command_of(event);
  row.status = "running";
  if (const json::value* who = event.if_contains("who"); who && who->is_object())
    row.pid = integer_of(who->get_object(), "pid").value_or(0);
}

void fill_end(LogRow& row, const json::object& event) {
  row.status = text_in_row(event, "status");
  row.returncode = integer_of(event, "returncode");
  row.duration_ms = number_in_row(event, "duration_ms");
  row.ended = true;
}

// Whatever else is on record, told by its kind and its reason.
void fill_other(LogRow& row, const json::object& event) {
  row.status = text_in_row(event, "kind");
  row.command = text_in_row(event, "reason", kMaxCommand);
  if (row.status == "tail_mended")
    row.command = fmt::format("a writer before this one was stopped in the middle ({} bytes cut)",
                              integer_of(event, "cut_bytes").value_or(0));
  row.ended = true;
}

std::string duration_text(std::optional<double> ms) {
  if (!ms) return "-";
  if (*ms < 1000) return fmt::format("{:.1f}ms", *ms);
  if (*ms < 60'000) return fmt::format("{:.2f}s", *ms / 1000);
  int64_t seconds = static_cast<int64_t>(std::min(*ms, 1e15)) / 1000;
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
}

// "2026-07-31T09:30:05Z": what --since takes back.
std::string seconds_text(int64_t ms) { return format_timestamp(ms).substr(0, 19) + "Z"; }

// Narrow, so that the command still shows in a window of 80 columns; --json has everything.
constexpr char kColumns[] = "{:<20}  {:<8.8}  {:<11}  {:>4}  {:>8}  {}";

// The first `width` characters, counted as code points, of text that is one line.
std::string cut_to_width(std::string text, size_t width) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    bool begins = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (begins && characters++ == width) return text.substr(0, i);
  }
  return text;
}

}  // namespace

// A pid may have gone to another process since: that one began after the event was written.
bool process_still_runs(int64_t pid, int64_t time_ms) {
  constexpr int64_t kSlackMs = 10'000;  // the wall clock may have been set in between
  if (pid <= 0) return false;
  UniqueFd stat{::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC)};
  char text[1024];
  ssize_t size = stat ? ::read(stat.get(), text, sizeof text) : -1;
  if (size <= 0) return false;
  std::string_view line(text, static_cast<size_t>(size));
  size_t name_end = line.rfind(')');  // the name may hold anything
  if (name_end == std::string_view::npos) return false;
  std::vector<std::string_view> fields = split(line.substr(name_end + 1), ' ');
  if (fields.size() < 21 || fields[1] == "Z" || fields[1] == "X") return false;
  timespec since_boot{};
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  int64_t boot_ms = now_ms() - since_boot.tv_sec * 1000 - since_boot.tv_nsec / 1'000'000;
  int64_t ticks = ::strtoll(std::string(fields[20]).c_str(), nullptr, 10);  // proc(5), field 22
  return boot_ms + ticks * 1000 / ::sysconf(_SC_CLK_TCK) <= time_ms + kSlackMs;
}

LogRow LogRows::add(const AuditEntry& entry, uint64_t line) {
  LogRow row{.first_line = line, .last_line = line};
  row.time_ms = parse_timestamp(entry.time).ok() ? *parse_timestamp(entry.time) : 0;
  row.id = text_in_row(entry.event, "id");
  std::string kind = text_in_row(entry.event, "kind");
  if (kind == "start") {
    fill_start(row, entry.event);
    open_[row.id] = row;
  } else if (kind == "end") {
    auto started = open_.find(row.id);
    if (started != open_.end()) {
      row = std::move(started->second);
      row.last_line = line;
      open_.erase(started);
    } else {
      row.command = "(no start on record)";
    }
    fill_end(row, entry.event);
  } else {
    fill_other(row, entry.event);
  }
  return row;
}

std::vector<LogRow> LogRows::open() const {
  std::vector<LogRow> rows;
  for (const auto& [id, row] : open_) {
    rows.push_back(row);
    if (!still_runs_(row.pid, row.time_ms)) rows.back().status = "no-end";
  }
  return rows;
}

bool matches(const LogRow& row, const LogOptions& options) {
  return (!options.since_ms || row.time_ms >= *options.since_ms) &&
         (options.status.empty() || row.status == options.status) &&
         row.id.starts_with(options.id_prefix);
}

// printable() shows what a control byte was; the filter takes what it leaves: U+0080 to U+009F, and
// bytes that are no UTF-8.
std::string shown(std::string_view text) {
  TerminalFilter filter(TerminalFilter::Mode::kPlain);
  std::string safe = filter.feed(printable(text));
  return safe + filter.finish();
}

std::string format_log_header() {
  return fmt::format(kColumns, "TIME", "ID", "STATUS", "EXIT", "DURATION", "COMMAND\n");
}

std::string format_log_row(const LogRow& row, std::optional<size_t> width) {
  auto cell = [](const std::string& text) { return text.empty() ? "-" : shown(text); };
  std::string command = row.command;
  if (!row.tier.empty() && row.tier != "process") command = "[" + row.tier + "] " + command;
  if (row.status == "no-end") command = "(no end on record) " + command;
  std::string line =
      fmt::format(kColumns, seconds_text(row.time_ms), cell(row.id), cell(row.status),
                  row.returncode ? std::to_string(*row.returncode) : "-",
                  duration_text(row.duration_ms), cell(command));
  return (width ? cut_to_width(std::move(line), *width) : line) + "\n";
}

}  // namespace caisson

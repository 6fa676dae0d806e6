// caisson log: shows the record, follows it, verifies it. It only ever reads.
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/log_follow.h"
#include "cli/log_options.h"
#include "cli/log_rows.h"
#include "cli/output.h"
#include "host/probe.h"
#include "run/audit.h"
#include "run/audit_read.h"
#include "run/timestamp.h"

namespace caisson {

namespace {

constexpr int kBroken = 1;

void say(const std::string& line) { talk("caisson: " + printable(line) + "\n"); }

std::optional<size_t> terminal_width() {
  winsize size{};
  if (!::isatty(STDOUT_FILENO) || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0) return {};
  return size.ws_col ? std::optional<size_t>(size.ws_col) : std::nullopt;
}

class LogView {
 public:
  LogView(LogOptions options, std::string path)
      : options_(std::move(options)),
        path_(std::move(path)),
        width_(terminal_width()),
        to_terminal_(::isatty(STDOUT_FILENO)) {}

  Result<void> show() {
    Result<AuditReader> reader = AuditReader::open(path_);
    if (!reader) {
      if (reader.error().errnum != ENOENT || !options_.file.empty()) return reader.error();
      say("nothing on record yet at " + path_);
      return options_.follow ? follow(std::nullopt) : Result<void>();
    }
    TRY(read_all(*reader));
    TRY(options_.json ? show_lines() : show_table());
    if (unreadable_)
      say(fmt::format("{} lines are no audit entries; `caisson log verify` says where",
                      unreadable_));
    return options_.follow ? follow(std::move(*reader)) : Result<void>();
  }

 private:
  Result<void> read_all(AuditReader& reader) {
    while (std::optional<AuditLine> line = TRY(reader.next())) {
      Result<AuditEntry> entry = parse_audit_line(line->text);
      if (!entry) {
        ++unreadable_;
        continue;
      }
      LogRow row = rows_.add(*entry, line->number);
      if (row.ended && matches(row, options_)) keep(std::move(row));
    }
    for (LogRow& row : rows_.open())
      if (matches(row, options_)) keep(std::move(row));
    auto earlier = [](const LogRow& a, const LogRow& b) { return a.first_line < b.first_line; };
    std::sort(kept_.begin(), kept_.end(), earlier);
    if (options_.last && kept_.size() > *options_.last)
      kept_.erase(kept_.begin(), kept_.end() - static_cast<ptrdiff_t>(*options_.last));
    return {};
  }
  void keep(LogRow row) { kept_.push_back(std::move(row)); }

  Result<void> show_table() {
    if (kept_.empty() && !options_.follow)
      say(options_.filters() ? "no execution on record matches" : "nothing on record yet");
    if (!kept_.empty() || options_.follow) TRY(put(format_log_header()));
    std::string text;
    for (const LogRow& row : kept_) {
      text += format_log_row(row, width_);
      if (text.size() > kMaxAuditLine) TRY(put(std::exchange(text, {})));
    }
    kept_.clear();
    return put(text);
  }

  // The lines of the executions that were kept: a second walk, so that no line need be held.
  Result<void> show_lines() {
    std::unordered_set<uint64_t> wanted;
    for (const LogRow& row : kept_) wanted.insert({row.first_line, row.last_line});
    uint64_t end = kept_.empty() ? 0 : *std::max_element(wanted.begin(), wanted.end());
    kept_.clear();
    AuditReader reader = TRY(AuditReader::open(path_));
    while (std::optional<AuditLine> line = TRY(reader.next())) {
      if (line->number > end) break;
      if (wanted.contains(line->number)) TRY(put_line(line->text));
    }
    return {};
  }
  // As stored: an entry holds no control characters, unless somebody else wrote it.
  Result<void> put_line(std::string_view line) {
    return put((to_terminal_ ? shown(line) : std::string(line)) + "\n");
  }
  Result<void> put(std::string_view text) {
    if (!write_all(STDOUT_FILENO, text)) return Error::system("write the output");
    return {};
  }

  Result<void> follow(std::optional<AuditReader> reader) {
    FileWatch watch = TRY(FileWatch::begin(path_));
    do {
      if (!reader || TRY(was_replaced(*reader))) reader = TRY(open_if_there());
      if (reader) TRY(show_new(*reader));
    } while (TRY(watch.wait()));
    return {};
  }
  Result<std::optional<AuditReader>> open_if_there() {
    Result<AuditReader> reader = AuditReader::open(path_);
    if (reader) return std::optional<AuditReader>(std::move(*reader));
    if (reader.error().errnum == ENOENT) return std::optional<AuditReader>();
    return reader.error();
  }
  Result<bool> was_replaced(const AuditReader& reader) {
    struct stat ours {
    }, named{};
    if (::fstat(reader.fd(), &ours) < 0) return Error::system("stat " + path_);
    if (::stat(path_.c_str(), &named) < 0) return false;  // gone for now: keep what we have
    bool shorter = static_cast<uint64_t>(ours.st_size) < reader.offset();
    if (shorter) say("the file got shorter; `caisson log verify` says what is missing");
    return shorter || ours.st_ino != named.st_ino || ours.st_dev != named.st_dev;
  }
  Result<void> show_new(AuditReader& reader) {
    while (std::optional<AuditLine> line = TRY(reader.next())) {
      Result<AuditEntry> entry = parse_audit_line(line->text);
      if (!entry) continue;
      LogRow row = rows_.add(*entry, line->number);
      if (matches(row, options_))
        TRY(options_.json ? put_line(line->text) : put(format_log_row(row, width_)));
    }
    return {};
  }

  LogOptions options_;
  std::string path_;
  std::optional<size_t> width_;
  bool to_terminal_;
  LogRows rows_;
  std::vector<LogRow> kept_;
  uint64_t unreadable_ = 0;
};

// The head is gone, or the file is: the chain alone shows neither.
void add_missing_files(FileVerdict& verdict, const LogOptions& options) {
  if (verdict.has_head || verdict.report.events == 0) return;
  std::string what = "audit.head is missing: lines cut from the end would not show";
  if (options.file.empty())
    verdict.report.findings.push_back({Finding::Kind::kHead, verdict.report.events, what});
  else
    verdict.report.notes.push_back(what);
}

std::string verdict_json(const VerifyReport& report) {
  boost::json::array findings, notes;
  for (const Finding& finding : report.findings)
    findings.push_back(boost::json::object{
        {"line", finding.line}, {"kind", finding_name(finding.kind)}, {"what", finding.what}});
  for (const std::string& note : report.notes) notes.push_back(boost::json::string(note));
  return boost::json::serialize(boost::json::object{{"whole", report.whole()},
                                                    {"events", report.events},
                                                    {"seq", report.head.seq},
                                                    {"head", report.head.hash},
                                                    {"findings", std::move(findings)},
                                                    {"more_findings", report.more_findings},
                                                    {"notes", std::move(notes)}}) +
         "\n";
}

std::string verdict_text(const VerifyReport& report) {
  if (report.whole())
    return fmt::format("{} events, chain whole, head {}\n", report.events, report.head.hash);
  std::string text = fmt::format("{} events, chain broken:\n", report.events);
  for (const Finding& finding : report.findings) text += "  " + shown(finding.what) + "\n";
  if (report.more_findings) text += fmt::format("  and {} more\n", report.more_findings);
  return text;
}

// No file and no head is a new record; a head without its file is a record that was removed.
Result<FileVerdict> verdict_of(const LogOptions& options, const std::string& path) {
  Result<FileVerdict> verdict = verify_audit_file(path);
  if (verdict.ok() || verdict.error().errnum != ENOENT || !options.file.empty()) return verdict;
  FileVerdict none{.has_head = ::access(audit_head_path(path).c_str(), F_OK) == 0};
  if (none.has_head)
    none.report.findings.push_back(
        {Finding::Kind::kMissing, 0, path + " is gone, but audit.head is there"});
  return none;
}

int verify(const LogOptions& options, const std::string& path) {
  Result<FileVerdict> verdict = verdict_of(options, path);
  if (!verdict) return report(verdict.error());
  add_missing_files(*verdict, options);
  const VerifyReport& found = verdict->report;
  if (!options.json)
    for (const std::string& note : found.notes) say("note: " + note);
  write_all(STDOUT_FILENO, options.json ? verdict_json(found) : verdict_text(found));
  return found.whole() ? 0 : kBroken;
}

std::string default_path() {
  Caller caller = current_caller(environ);
  return audit_path(caller.env("XDG_STATE_HOME"), caller.home);
}

}  // namespace

int log_command(std::span<const std::string> args) {
  Result<LogOptions> options = parse_log_options(args, now_ms());
  if (!options) return report(options.error());
  if (options->help) {
    write_all(STDOUT_FILENO, kLogHelp);
    return 0;
  }
  std::string path = options->file.empty() ? default_path() : options->file;
  if (options->verify) return verify(*options, path);
  Result<void> shown = LogView(std::move(*options), path).show();
  if (shown.ok() || shown.error().errnum == EPIPE) return 0;
  return report(shown.error());
}

}  // namespace caisson

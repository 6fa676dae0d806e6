// The audit reader on bytes that anybody may have put into the file, and the encoder on any event.
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/sha256.h"
#include "require.h"
#include "run/audit_chain.h"
#include "run/audit_encode.h"
#include "run/audit_line.h"

namespace caisson {
namespace {

namespace json = boost::json;

constexpr std::string_view kTime = "2026-07-31T09:30:05.042Z";

// Only one spelling is an entry: what was read, written again, stands in the line at its place.
void check_line(std::string_view line) {
  Result<AuditEntry> entry = parse_audit_line(line);
  if (!entry) {
    fuzz::require_good(entry.error());
    return;
  }
  REQUIRE(line.size() < kMaxAuditLine);
  REQUIRE(line.starts_with(fmt::format("{{\"seq\":{},\"time\":\"{}\",\"prev\":\"{}\",\"event\":",
                                       entry->seq, entry->time, entry->prev)));
  std::string trailer = fmt::format(",\"hash\":\"{}\"}}", entry->hash);
  REQUIRE(line.ends_with(trailer));
  std::string_view hashed = line.substr(0, line.size() - trailer.size());
  REQUIRE(audit_hash_holds(line) == (sha256_hex(hashed) == entry->hash));
  REQUIRE(hash_in_trailer(std::string(line) + "\n") == entry->hash);
}

void check_file(std::string_view text) {
  size_t lines = static_cast<size_t>(std::ranges::count(text, '\n'));
  VerifyReport report = verify_lines(text, std::nullopt);
  REQUIRE(report.events <= lines);
  REQUIRE(report.head.end <= text.size());
  REQUIRE(report.findings.size() <= kMaxFindings);
  REQUIRE(report.more_findings == 0 || report.findings.size() == kMaxFindings);
  for (const Finding& finding : report.findings) {
    REQUIRE(finding.line <= lines + 1);
    REQUIRE(finding.what.size() < 1024);
  }
  if (!report.whole()) return;
  REQUIRE(report.head.seq == report.events);  // counted from 1, none missing
  REQUIRE(text.empty() || text.ends_with('\n'));
  // A head for an entry beyond the end makes a cut of it.
  AuditHead later = report.head;
  ++later.seq, later.end += 100;
  REQUIRE(!verify_lines(text, later).whole());
}

void check_head(std::string_view text) {
  std::optional<AuditHead> head = parse_audit_head(text);
  if (!head) return;
  REQUIRE(parse_audit_head(format_audit_head(*head)) == head);
}

// Any event that is JSON becomes one line that parses, links and can't steer a terminal.
void check_event(std::string_view text) {
  json::parse_options options;
  options.max_depth = 64;
  json::error_code problem;
  json::value value = json::parse({text.data(), text.size()}, problem, {}, options);
  if (problem || !value.is_object()) return;
  for (size_t limit : {size_t{512}, size_t{4096}, size_t{64 * 1024}}) {
    std::string encoded = encode_event(value.get_object(), limit);
    REQUIRE(encoded.size() <= limit);
    REQUIRE(fuzz::is_one_printable_line(encoded));
    AuditHead head;
    std::string line = make_audit_line(head, kTime, encoded);
    REQUIRE(head.seq == 1 && head.end == line.size());
    line.pop_back();
    REQUIRE(parse_audit_line(line).ok());
    REQUIRE(audit_hash_holds(line));
    check_line(line);
  }
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::string_view text = fuzz::as_text(data, size);
  for (std::string_view line : split(text, '\n')) check_line(line);
  check_file(text);
  check_head(text);
  check_event(text);
  return 0;
}

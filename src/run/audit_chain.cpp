#include "run/audit_chain.h"

#include <fmt/format.h>
#include <boost/json/value.hpp>

#include "base/sha256.h"

namespace caisson {

namespace {

using Kind = Finding::Kind;

std::string_view text_member(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains({key.data(), key.size()});
  if (!value || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

uint64_t number_member(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains({key.data(), key.size()});
  if (!value) return 0;
  if (value->is_uint64()) return value->get_uint64();
  return value->is_int64() && value->get_int64() > 0 ? value->get_int64() : 0;
}

std::string entries(uint64_t first, uint64_t last) {
  if (first == last) return fmt::format("entry {} is", first);
  return fmt::format("entries {} to {} are", first, last);
}

std::string lines(uint64_t first, uint64_t count) {
  if (count == 1) return fmt::format("line {} is", first);
  return fmt::format("lines {} to {} are", first, first + count - 1);
}

}  // namespace

std::string_view finding_name(Kind kind) {
  switch (kind) {
    case Kind::kUnreadable:
      return "unreadable";
    case Kind::kChanged:
      return "changed";
    case Kind::kMissing:
      return "missing";
    case Kind::kReordered:
      return "reordered";
    case Kind::kUnlinked:
      return "unlinked";
    case Kind::kReported:
      return "reported";
    case Kind::kHead:
      return "head";
  }
  return "unknown";
}

ChainWalk::ChainWalk(AuditHead start, uint64_t first_line)
    : number_(first_line - 1), offset_(start.end) {
  report_.head = std::move(start);
}

void ChainWalk::find(Kind kind, uint64_t line, std::string what) {
  if (report_.findings.size() == kMaxFindings)
    ++report_.more_findings;
  else
    report_.findings.push_back({kind, line, std::move(what)});
}

void ChainWalk::note(std::string text) {
  if (report_.notes.size() < kMaxFindings) report_.notes.push_back(std::move(text));
}

void ChainWalk::line(std::string_view text, uint64_t size) {
  ++number_;
  offset_ += size;
  Result<AuditEntry> entry = parse_audit_line(text);
  if (!entry) return unreadable(text);
  ++report_.events;
  settle_cut(*entry);
  if (!audit_hash_holds(text))
    find(Kind::kChanged, number_,
         fmt::format("line {} (entry {}) is changed: its hash is not that of its text", number_,
                     entry->seq));
  check_link(*entry);
  look_at_event(*entry);
}

void ChainWalk::unreadable(std::string_view text) {
  if (cut_lines_++ == 0) cut_first_ = number_;
  if (cut_.size() + text.size() >= kMaxCut) cut_too_large_ = true;
  if (cut_too_large_) return;
  cut_ += text;
  cut_ += '\n';
}

// Lines that are no entries are in order only where the next entry is a writer's word that it found
// them at the end, with their size and hash.
void ChainWalk::settle_cut(const AuditEntry& entry) {
  bool mend = text_member(entry.event, "kind") == "tail_mended";
  std::string_view digest = mend ? text_member(entry.event, "cut_sha256") : std::string_view();
  uint64_t claimed = number_member(entry.event, "cut_bytes");
  if (cut_lines_ == 0) {
    if (!digest.empty())
      find(Kind::kMissing, number_,
           fmt::format("line {}: the {} bytes that it sealed are gone", number_, claimed));
    return;
  }
  std::string_view bytes = cut_;
  if (!bytes.empty()) bytes.remove_suffix(1);  // the newline that sealed them
  bool sealed =
      !digest.empty() && !cut_too_large_ && bytes.size() == claimed && sha256_hex(bytes) == digest;
  if (!sealed) {
    find(Kind::kUnreadable, cut_first_,
         fmt::format("{} no audit entry: changed or cut", lines(cut_first_, cut_lines_)));
    // As many entries as lines are lost: that is said already.
    uint64_t gap = entry.seq > report_.head.seq ? entry.seq - report_.head.seq - 1 : 0;
    if (gap > 0 && gap <= cut_lines_)
      report_.head.seq = entry.seq - 1, report_.head.hash = entry.prev;
  }
  cut_.clear();
  cut_lines_ = 0;
  cut_too_large_ = false;
}

void ChainWalk::check_link(const AuditEntry& entry) {
  uint64_t next = report_.head.seq + 1;
  if (entry.seq < next) {
    find(Kind::kReordered, number_,
         fmt::format("line {}: entry {} stands behind entry {}: moved or repeated", number_,
                     entry.seq, next - 1));
    return;  // the walk goes on from the highest entry, or one moved line would break all others
  }
  if (entry.seq > next)
    find(Kind::kMissing, number_,
         fmt::format("{} missing before line {} (entry {})", entries(next, entry.seq - 1), number_,
                     entry.seq));
  else if (entry.prev != report_.head.hash)
    find(Kind::kUnlinked, number_,
         fmt::format("line {} (entry {}) does not follow from the line before it: one of the two "
                     "was replaced",
                     number_, entry.seq));
  report_.head = {entry.seq, entry.hash, offset_};
  if (expected_ && report_.head == *expected_) met_expected_ = true;
}

void ChainWalk::look_at_event(const AuditEntry& entry) {
  std::string_view kind = text_member(entry.event, "kind");
  if (kind == "chain_broken")
    find(Kind::kReported, number_,
         fmt::format("line {}: a writer found the chain broken here ({})", number_,
                     text_member(entry.event, "reason").substr(0, 64)));
  if (kind == "tail_mended")
    note(
        fmt::format("line {}: a writer mended what a crash had left ({} bytes of a cut line, {} "
                    "entries not yet in audit.head)",
                    number_, number_member(entry.event, "cut_bytes"),
                    number_member(entry.event, "entries_past_head")));
}

// The chain can't show that its last lines are gone; the head can.
void ChainWalk::check_head() {
  if (!expected_) return;
  const AuditHead& last = report_.head;
  if (expected_->seq == 0 && expected_->end == 0 && expected_->hash == kNoHash)
    met_expected_ = true;
  if (expected_->seq > last.seq)
    find(Kind::kMissing, number_,
         fmt::format("{} missing behind line {}: the file was cut at its end",
                     entries(last.seq + 1, expected_->seq), number_));
  else if (!met_expected_)
    find(Kind::kHead, number_,
         fmt::format("entry {} is not the one, or not in the place, that audit.head names",
                     expected_->seq));
  else if (expected_->seq < last.seq)
    note(
        fmt::format("audit.head is behind by {}: a writer was stopped in the middle; the next one "
                    "mends it",
                    last.seq - expected_->seq));
}

VerifyReport ChainWalk::finish(std::string_view rest) {
  if (cut_lines_ > 0)
    find(Kind::kUnreadable, cut_first_,
         fmt::format("{} no audit entry: changed or cut", lines(cut_first_, cut_lines_)));
  if (!rest.empty()) {
    ++number_;
    find(Kind::kUnreadable, number_,
         fmt::format("line {} is cut after {} bytes", number_, rest.size()));
  }
  check_head();
  return std::move(report_);
}

VerifyReport verify_lines(std::string_view text, const std::optional<AuditHead>& head) {
  ChainWalk walk;
  if (head) walk.expect_head(*head);
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    walk.line(text.substr(0, end));
  return walk.finish(text);
}

}  // namespace caisson

// Walks a chain line by line and says where it is not whole. Pure: bytes in, findings out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/audit_line.h"

namespace caisson {

// What a writer that was killed can leave behind: two lines and their sealing newline at most,
// twice over if the one that mended was killed too. More than this is not called a crash.
inline constexpr size_t kMaxCut = 4 * kMaxAuditLine;

struct Finding {
  enum class Kind { kUnreadable, kChanged, kMissing, kReordered, kUnlinked, kReported, kHead };
  Kind kind;
  uint64_t line;  // counted from 1
  std::string what;
};
std::string_view finding_name(Finding::Kind kind);

struct VerifyReport {
  uint64_t events = 0;
  AuditHead head;                  // the last entry that was read
  std::vector<Finding> findings;   // the first kMaxFindings of them
  uint64_t more_findings = 0;      // counted, not kept
  std::vector<std::string> notes;  // mended crashes: no harm, but worth a word
  bool whole() const { return findings.empty(); }
};
inline constexpr size_t kMaxFindings = 100;

class ChainWalk {
 public:
  // Begins behind `start`; the line there is number `first_line`.
  explicit ChainWalk(AuditHead start = {}, uint64_t first_line = 1);

  // The entry that audit.head names: the walk must come by it.
  void expect_head(const AuditHead& head) { expected_ = head; }
  // A line without its newline; `size` is what it takes in the file, if that is more.
  void line(std::string_view text, uint64_t size);
  void line(std::string_view text) { line(text, text.size() + 1); }

  // Lines read so far that are no entries and that no writer has accounted for yet.
  const std::string& cut() const { return cut_; }
  const AuditHead& head() const { return report_.head; }
  uint64_t events() const { return report_.events; }
  bool whole() const { return report_.findings.empty(); }

  // `rest` is what stands behind the last newline.
  VerifyReport finish(std::string_view rest);

 private:
  void unreadable(std::string_view text);
  void settle_cut(const AuditEntry& entry);
  void check_link(const AuditEntry& entry);
  void check_head();
  void look_at_event(const AuditEntry& entry);
  void find(Finding::Kind kind, uint64_t line, std::string what);
  void note(std::string text);

  VerifyReport report_;
  std::optional<AuditHead> expected_;
  bool met_expected_ = false;
  uint64_t number_;  // of the line at hand
  uint64_t offset_;  // behind it
  std::string cut_;
  uint64_t cut_first_ = 0, cut_lines_ = 0;
  bool cut_too_large_ = false;
};

// A whole file's bytes at once, and what audit.head says of them, if there is one.
VerifyReport verify_lines(std::string_view text, const std::optional<AuditHead>& head);

}  // namespace caisson

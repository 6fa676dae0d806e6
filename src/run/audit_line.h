// One line of the audit chain as bytes: made, parsed, hashed. Pure functions, no files.
//
//   {"seq":7,"time":"2026-07-31T09:30:05.042Z","prev":"<hash of entry
//   6>","event":{…},"hash":"<hash>"}
//
// The hash is SHA-256 over the line's own bytes in front of `,"hash":`; as these name the hash of
// the entry before, each hash stands for everything above it. No key is involved: the chain shows
// accidents and edits, but whoever owns the files can compute a new chain from the first line on.
// Against that, keep the last hash (`caisson log verify` prints it) somewhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "base/result.h"

namespace caisson {

inline constexpr size_t kMaxAuditLine = 256 * 1024;  // its newline counted
inline constexpr std::string_view kNoHash =
    "0000000000000000000000000000000000000000000000000000000000000000";

// Where a chain ends: its last entry, and the file's size with it. Before the first entry: all
// zero. The same is kept in audit.head, since a chain alone can't show that whole lines are gone
// from its end.
struct AuditHead {
  uint64_t seq = 0;
  std::string hash{kNoHash};
  uint64_t end = 0;
  bool operator==(const AuditHead&) const = default;
};

struct AuditEntry {
  uint64_t seq = 0;
  std::string time;
  std::string prev;
  boost::json::object event;
  std::string hash;  // as the line states it; audit_hash_holds() tells whether it is right
};

// The line (with its newline) that follows `head`, which moves on to it.
std::string make_audit_line(AuditHead& head, std::string_view time, std::string_view event_json);

// A line without its newline. Only the exact layout above is an entry: no other spacing, no other
// order. Safe on arbitrary bytes.
Result<AuditEntry> parse_audit_line(std::string_view line);
bool audit_hash_holds(std::string_view line);

// The hash that closes the line whose end `text` is; empty if it is no end of a line.
inline constexpr size_t kAuditTrailer = 9 + 64 + 3;  // ,"hash":"<64>"}\n
std::string_view hash_in_trailer(std::string_view text);

// Of one size always, so that one write replaces the whole of it.
inline constexpr size_t kAuditHeadSize = 160;
std::string format_audit_head(const AuditHead& head);
std::optional<AuditHead> parse_audit_head(std::string_view text);

}  // namespace caisson

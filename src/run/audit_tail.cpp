// What can stand at the end of the file, and why. A writer holds the lock, writes its lines in one
// go, then the head; it can be killed between any two bytes.
//
//   the end is where the head says       → in order: nothing more is read than the last 76 bytes
//   entries behind the head's            → killed before the head was written    → tail_mended
//   then bytes that are no entry         → killed in the middle of a line        → tail_mended
//   the head's entry is not there        → cut or edited                         → chain_broken
//   no head, but a file                  → the head was removed                  → chain_broken
//
// Cut bytes are never removed (an append-only file would not even allow it): a newline seals them,
// and tail_mended carries their size and hash. After chain_broken the chain goes on from the head's
// entry, not from what is found: the gap stays to be seen for good.
#include "run/audit_tail.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/sha256.h"
#include "run/audit_chain.h"

namespace caisson {

namespace {

constexpr size_t kShownCut = 80;

Result<std::string> read_at(int fd, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < size) {
    ssize_t got = ::pread(fd, bytes.data() + have, size - have, offset + have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::system("read the audit log");
    if (got == 0) break;
    have += got;
  }
  bytes.resize(have);
  return bytes;
}

// Does the head's last line really end there? Its hash stands in the line's last bytes.
Result<bool> ends_at(int file, const AuditHead& head, uint64_t size) {
  if (head.end == 0) return head.seq == 0;
  if (head.end > size || head.end < kAuditTrailer) return false;
  char trailer[kAuditTrailer];
  ssize_t got = ::pread(file, trailer, sizeof trailer, head.end - sizeof trailer);
  if (got < 0) return Error::system("read the audit log");
  return hash_in_trailer({trailer, static_cast<size_t>(got)}) == head.hash;
}

// Feeds whole lines to the walk; returns what is behind the last newline.
std::string_view walk_lines(ChainWalk& walk, std::string_view text) {
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    walk.line(text.substr(0, end));
  return text;
}

boost::json::object broken(const char* reason, const std::optional<AuditHead>& head,
                           uint64_t size) {
  boost::json::object event{{"kind", "chain_broken"}, {"reason", reason}, {"found_bytes", size}};
  if (head) {
    event["head_seq"] = head->seq;
    event["head_hash"] = head->hash;
    event["head_bytes"] = head->end;
  }
  return event;
}

Result<std::string> seal_for(int file, uint64_t size) {
  if (size == 0) return std::string();
  return TRY(read_at(file, size - 1, 1)) == "\n" ? std::string() : std::string("\n");
}

// The last entry that can be read within a bounded window at the end.
Result<AuditHead> last_entry(int file, uint64_t size) {
  uint64_t window = std::min<uint64_t>(size, 2 * kMaxAuditLine);
  std::string bytes = TRY(read_at(file, size - window, window));
  std::string_view text = bytes;
  while (!text.empty()) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    size_t begin = text.rfind('\n') + 1;  // npos + 1 is 0
    if (Result<AuditEntry> entry = parse_audit_line(text.substr(begin)); entry.ok())
      return AuditHead{entry->seq, entry->hash, size};
    text = text.substr(0, begin);
  }
  return AuditHead{0, std::string(kNoHash), size};
}

Result<AuditTail> broken_tail(int file, const char* reason, const std::optional<AuditHead>& head,
                              uint64_t size) {
  AuditTail tail{.seal = TRY(seal_for(file, size)), .report = broken(reason, head, size)};
  tail.head = TRY(last_entry(file, size));
  // A number is never given twice: behind lines that are gone the chain goes on from the head.
  if (head && head->seq >= tail.head.seq) tail.head.seq = head->seq, tail.head.hash = head->hash;
  tail.head.end = size;
  return tail;
}

// The head's entry is in its place and there is more behind it: what a killed writer left.
Result<AuditTail> mended_tail(int file, const AuditHead& head, uint64_t size) {
  if (size - head.end >= kMaxCut)
    return broken_tail(file, "foreign bytes behind the end", head, size);
  std::string bytes = TRY(read_at(file, head.end, size - head.end));
  ChainWalk walk(head);
  std::string_view rest = walk_lines(walk, bytes);
  AuditTail tail{.seal = rest.empty() ? "" : "\n"};
  // Killed just before the newline: the entry is all there.
  if (audit_hash_holds(rest)) {
    walk.line(rest);
    rest = {};
  }
  if (!walk.whole()) return broken_tail(file, "foreign lines behind the end", head, size);
  tail.head = walk.head();
  tail.head.end = size;
  tail.report = {{"kind", "tail_mended"}, {"entries_past_head", walk.events()}};
  std::string cut = walk.cut() + std::string(rest);
  if (cut.ends_with('\n')) cut.pop_back();
  if (!walk.cut().empty() || !rest.empty()) {
    tail.report["cut_bytes"] = cut.size();
    tail.report["cut_sha256"] = sha256_hex(cut);
    tail.report["cut_start"] = cut.substr(0, kShownCut);
  }
  return tail;
}

}  // namespace

std::optional<AuditHead> read_audit_head(int head_file) {
  char text[kAuditHeadSize];
  ssize_t got = ::pread(head_file, text, sizeof text, 0);
  if (got < 0) return {};
  return parse_audit_head({text, static_cast<size_t>(got)});
}

Result<AuditTail> find_audit_tail(int file, const std::optional<AuditHead>& head) {
  struct stat st {};
  if (::fstat(file, &st) < 0) return Error::system("stat the audit log");
  uint64_t size = st.st_size;
  if (!head && size == 0) return AuditTail{};
  if (!head) return broken_tail(file, "audit.head is missing", head, size);
  if (head->end > size) return broken_tail(file, "cut at the end", head, size);
  if (!TRY(ends_at(file, *head, size))) return broken_tail(file, "edited at the end", head, size);
  if (head->end == size) return AuditTail{.head = *head};
  return mended_tail(file, *head, size);
}

}  // namespace caisson

#include "run/audit_read.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/scope_exit.h"
#include "run/audit.h"
#include "run/audit_tail.h"

namespace caisson {

namespace {

constexpr size_t kChunk = 64 * 1024;

struct Snapshot {
  uint64_t size = 0;
  std::optional<AuditHead> head;
};

// Under the lock the head and the file agree; afterwards the file only grows, so that the lock need
// not be held (and writers wait) while everything is read.
Result<Snapshot> snapshot(int file, const std::string& path) {
  while (::flock(file, LOCK_SH) < 0)
    if (errno != EINTR) return Error::system("lock " + path);
  ScopeExit unlock([file] { ::flock(file, LOCK_UN); });
  struct stat st {};
  if (::fstat(file, &st) < 0) return Error::system("stat " + path);
  std::string head_path = audit_head_path(path);
  UniqueFd head{::open(head_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
  if (!head && errno != ENOENT) return Error::system("open " + head_path);
  Snapshot now{.size = static_cast<uint64_t>(st.st_size)};
  if (head) now.head = read_audit_head(head.get());
  return now;
}

}  // namespace

Result<AuditReader> AuditReader::open(const std::string& path) {
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
  if (!fd)
    return Error::system("open " + path)
        .with_hint("name a record that is there and that you may read; --file takes its path");
  struct stat st {};
  if (::fstat(fd.get(), &st) < 0) return Error::system("stat " + path);
  if (!S_ISREG(st.st_mode)) return Error::plain(path + ": not a regular file");
  return AuditReader(std::move(fd));
}

// A line longer than any of ours: its beginning stays, the rest is only counted.
void AuditReader::drop_overlong() {
  size_t have = buffer_.size() - begin_;
  if (have <= kMaxAuditLine) return;
  dropped_ += have - kMaxAuditLine;
  buffer_.resize(begin_ + kMaxAuditLine);
}

// Reads more behind what is there; false at the end.
Result<bool> AuditReader::fill() {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
  }
  size_t want = std::min<uint64_t>(kChunk, limit_ - std::min(limit_, offset_));
  size_t old = buffer_.size();
  buffer_.resize(old + want);
  ssize_t got;
  do got = ::pread(fd_.get(), buffer_.data() + old, want, offset_);
  while (got < 0 && errno == EINTR);
  buffer_.resize(old + std::max<ssize_t>(got, 0));
  if (got < 0) return Error::system("read the audit log");
  offset_ += got;
  return got > 0;
}

Result<std::optional<AuditLine>> AuditReader::next() {
  size_t end;
  while ((end = buffer_.find('\n', searched_)) == std::string::npos) {
    drop_overlong();
    searched_ = buffer_.size();
    if (!TRY(fill())) return std::optional<AuditLine>();
  }
  AuditLine line{.text = std::string_view(buffer_).substr(begin_, end - begin_),
                 .number = ++number_,
                 .size = end - begin_ + dropped_ + 1};
  dropped_ = 0;
  begin_ = searched_ = end + 1;
  return std::optional<AuditLine>(line);
}

Result<FileVerdict> verify_audit_file(const std::string& path) {
  AuditReader reader = TRY(AuditReader::open(path));
  Snapshot now = TRY(snapshot(reader.fd(), path));
  reader.stop_at(now.size);
  ChainWalk walk;
  if (now.head) walk.expect_head(*now.head);
  while (std::optional<AuditLine> line = TRY(reader.next())) walk.line(line->text, line->size);
  return FileVerdict{walk.finish(reader.rest()), now.head.has_value()};
}

}  // namespace caisson

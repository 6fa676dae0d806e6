// Reading the audit file: as a stream, in bounded memory, whatever bytes it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "run/audit_chain.h"

namespace caisson {

struct AuditLine {
  std::string_view text;  // without its newline; good until the next call
  uint64_t number = 0;    // counted from 1
  uint64_t size = 0;      // what it takes in the file: more than `text` if it was too long to keep
};

class AuditReader {
 public:
  // Any regular file that can be read: looking needs no ownership.
  static Result<AuditReader> open(const std::string& path);

  // The next whole line; nothing at the end. More may be there at a later call (--follow).
  Result<std::optional<AuditLine>> next();
  // What stands behind the last newline, as far as it was read.
  std::string_view rest() const { return std::string_view(buffer_).substr(begin_); }
  // Stops before this offset, as if the file ended there.
  void stop_at(uint64_t offset) { limit_ = offset; }
  // How much of the file has been read.
  uint64_t offset() const { return offset_; }
  int fd() const { return fd_.get(); }

 private:
  explicit AuditReader(UniqueFd fd) : fd_(std::move(fd)) {}
  Result<bool> fill();
  void drop_overlong();

  UniqueFd fd_;
  std::string buffer_;
  size_t begin_ = 0;      // of the line at hand, in buffer_
  size_t searched_ = 0;   // no newline in buffer_ in front of this
  uint64_t dropped_ = 0;  // bytes of the line at hand that were not kept
  uint64_t number_ = 0;
  uint64_t offset_ = 0;
  uint64_t limit_ = UINT64_MAX;
};

// The whole file against its chain and against audit.head beside it, as of one moment between two
// appends. The head is absent when the file has none.
struct FileVerdict {
  VerifyReport report;
  bool has_head = false;
};
Result<FileVerdict> verify_audit_file(const std::string& path);

}  // namespace caisson

// The audit chain: append-only JSON lines, each carrying the hash of the one before.
// Only this folder writes the file. It lies outside every cell.
#pragma once

#include <chrono>
#include <string>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson {

// $XDG_STATE_HOME/caisson/audit.jsonl, or ~/.local/state/caisson/audit.jsonl. A relative
// $XDG_STATE_HOME counts as none (XDG base directory specification).
std::string audit_path(const std::string& xdg_state_home, const std::string& home);
// audit.head beside audit.jsonl: the same name with another ending.
std::string audit_head_path(const std::string& path);

// One appended line: {"seq":N,"time":"…Z","prev":"<sha256>","event":{…},"hash":"<sha256>"}.
// Beside it stands audit.head: where the chain ends, so that lines missing from its end are
// noticed.
class AuditLog {
 public:
  static constexpr std::chrono::milliseconds kPatience{10'000};

  // Makes the folder (0700) and the file (0600) when they are missing; refuses a file or folder
  // that is not the caller's own or that others can write.
  static Result<AuditLog> open(const std::string& path) { return open(path, kPatience); }
  // Another patience with who holds the lock.
  static Result<AuditLog> open(const std::string& path, std::chrono::milliseconds patience);

  // Appends under a lock; many processes may append at once. What a writer killed in the middle
  // left behind is sealed and told by an event {"kind":"tail_mended"} in front; an end that is not
  // where audit.head says is told by {"kind":"chain_broken"}. Never shared between processes by
  // fork: the lock belongs to the open file.
  Result<void> append(const boost::json::object& event);

 private:
  AuditLog(UniqueFd folder, UniqueFd file, std::string path, std::chrono::milliseconds patience)
      : folder_(std::move(folder)),
        file_(std::move(file)),
        path_(std::move(path)),
        patience_(patience) {}
  Result<void> lock();
  Result<void> await_lock(std::chrono::steady_clock::time_point until) const;
  Result<bool> was_replaced() const;
  Result<void> write_lines(const std::string& lines, uint64_t old_size);

  UniqueFd folder_;
  UniqueFd file_;
  std::string path_;
  std::chrono::milliseconds patience_;
};

}  // namespace caisson

// The audit chain: append-only JSON lines, each carrying the hash of the one before.
// Only this folder writes the file. It lies outside every cell.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson {

// $XDG_STATE_HOME/caisson/audit.jsonl, or ~/.local/state/caisson/audit.jsonl.
std::string audit_path(const std::string& xdg_state_home, const std::string& home);

// One appended line: {"seq":N,"time":"…Z","prev":"<sha256>","event":{…},"hash":"<sha256>"}.
class AuditLog {
 public:
  // Makes the folder (0700) and the file (0600) when they are missing; refuses a file or folder that
  // is not the caller's own or that others can write.
  static Result<AuditLog> open(const std::string& path);
  // Appends under a lock, after mending a tail that a crash cut short (and saying so by an event
  // {"kind":"tail_mended"} of its own). Many processes may append at once.
  Result<void> append(const boost::json::object& event);

 private:
  explicit AuditLog(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

}  // namespace caisson

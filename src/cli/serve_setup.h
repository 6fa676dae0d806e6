// What `caisson serve` needs before it listens: its folder, its lock, its token.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "policy/caller.h"

namespace caisson {

// Only one server per socket: held as long as it lives, gone with it however it ends.
Result<UniqueFd> lock_beside(const std::string& socket_path, const char* ending);

// From a file that only the caller can read.
Result<std::string> read_token(const std::string& path);
// A new one (256 bits), written to `path` (0600).
Result<std::string> make_token(const std::string& path);

// Of the environment, what `caisson exec` itself needs: to find programs, its record and the
// user's service manager. No secret is handed on.
std::vector<std::string> exec_environment(const Caller& caller);

}  // namespace caisson

// Whose sessions are whose. A scope is a name that no other client comes by, unless it is the same
// conversation in the same project, started again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::mcp {

struct ScopeKey {
  std::string project;  // folder
  std::string origin;   // "claude-code", or "name" for --session
  std::string id;       // the conversation, or the name
};

// 16 hexadecimal digits.
std::string scope_of(const ScopeKey& key);
std::string random_scope();

// Held while a server uses a scope's snapshots. nullopt: somebody else holds it.
Result<std::optional<UniqueFd>> lock_scope(const std::string& state_folder, std::string_view scope);

// Snapshots that are too old to be taken up, and locks that nobody has held for as long.
constexpr int64_t kStateSeconds = 30 * 24 * 3600;
void drop_old_state(const std::string& state_folder, int64_t now_unix);

}  // namespace caisson::mcp

// StateClaim: a state folder of a server's own, and the right to it. Whoever takes a server over
// has all that its state folder holds, and a launcher that works on all of it. So servers whose
// rights differ, or whose sessions are not each other's, have folders beside each other, each with
// its launcher and its Landlock domain, and none of them reaches another's (C32, C33). A lock lies
// beside each folder, where the server, once it is confined, can neither remove nor replace it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/trash.h"

namespace caisson::session {

struct StateClaim {
  std::string folder;  // there, 0700
  UniqueFd lock;       // as long as it is open, by whoever has it
};

enum class Sharing {
  kAlone,     // one process at a time
  kTogether,  // it can't be cleared away meanwhile, and that is all
};

// NAME in `parent`, a folder of ours alone that is there. nullopt: another process has it.
// `note`: for who finds it taken.
Result<std::optional<StateClaim>> claim_state(const std::string& parent, const std::string& name,
                                              Sharing sharing, std::string_view note = {});
// The note of who has it; empty when there is none.
std::string note_on_claim(const std::string& parent, const std::string& name);
// Under a name that nobody had before: for who never comes back to it.
Result<StateClaim> claim_passing_state(const std::string& parent);

// Folders of passing states that nobody has any more, with all that is in them.
void sweep_passing_states(const std::string& parent, Trash&);
// Of states that nobody has used for so long, what can't be taken up any more: snapshots and
// checkpoints. Files of sessions stay; a folder that has none goes.
constexpr int64_t kStateSeconds = 30 * 24 * 3600;
void sweep_old_states(const std::string& parent, int64_t now_unix, Trash&);
// At the end of who had it: a passing state, and its lock.
void drop_passing_state(const std::string& folder, Trash&);

}  // namespace caisson::session

// What the sessions of a server have of the host's files is named once, when the server starts, and
// looked up by `caisson exec` at the start of every session. A session that can write the folder
// above one of these names can put a link in its place, and the next session would have what that
// leads to: so no such name may lie where sessions write.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/hidden_parts.h"
#include "policy/caller.h"
#include "policy/settings.h"

namespace caisson {

struct SessionRoots {
  std::vector<std::string> words;       // of the policy of every session
  std::vector<std::string> workspaces;  // that a session may have; absolute
};

// The real paths of all that sessions may write; an error that names two that don't go together,
// as what a rule hides and a folder that would show it at another path (hidden_parts.h).
// `caller`: who starts the server.
Result<std::vector<std::string>> check_roots(const SessionRoots&, const Caller& caller);

// Of one cell with srt's settings: that its folders show nothing that a rule hides in them.
Result<void> check_shown_parts(const Settings&, const Caller& caller, HiddenBy);

}  // namespace caisson

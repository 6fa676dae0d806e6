// A rule that hides a file names it by a path, and holds at that path. A workspace or a mount shows
// a folder at another one, where the same file has a name that no rule knows: the two don't go
// together, and that is said before anything runs.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "policy/settings.h"
#include "session/load_rules.h"

namespace caisson {

// A folder or file of the host, and where a cell has it.
struct ShownPlace {
  std::string said;               // "--workspace /w"
  session::WrittenFolder source;  // by its real path
  std::string inside;
};

// kNameInside: by what a rule names in the folder, and not by what "/home/**/key" may come to hide
// there. The folder may be a session's own, below the home of who wrote the rule.
enum class HiddenBy { kAny, kNameInside };

// Whether there is anything to check.
bool hides_files(const Settings&);

// Of denyRead, and of credentials that are denied or masked. A folder that lies in what is hidden
// is no error: who names it means to show it.
Result<void> check_hidden_parts(const Settings&, const std::vector<ShownPlace>&, HiddenBy);

}  // namespace caisson

// The words of the `caisson exec` that a session's cell is. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/session.h"

namespace caisson::session {

// `of_what`: that is to be called so. The keeper has the same rule (py/checkpoints.py).
Result<void> check_name(std::string_view name, std::string_view of_what = "session");
Result<void> check_spec(const SessionSpec&);

// What a zygote is told: the modules that it loads ahead.
std::vector<std::string> zygote_words(const SessionSpec&);
// Sessions of the same key have the same zygote.
std::string zygote_key(const SessionSpec&);

// What `caisson exec` is told before the policy of the session: its limits and its folder.
std::vector<std::string> cell_words(const SessionSpec&, const std::string& workspace);
// Its policy, which wins over that. These may hold secrets (--env KEY=…), and nobody else is to see
// them.
std::vector<std::string> private_words(const SessionSpec&);
// `kernel_words`: what follows `python3 -I /proc/self/fd/4`. A Python in a home folder (virtualenv,
// pyenv, conda, uv) is made visible by exec itself, as for any command.
std::vector<std::string> cell_command(const SessionSpec&,
                                      const std::vector<std::string>& kernel_words);

// The files of --secret among words of a policy, as the cell's exec finds them: such a file never
// enters a cell, and is not loaded into one.
std::vector<std::string> files_of_secrets(const std::vector<std::string>& policy_words);

}  // namespace caisson::session

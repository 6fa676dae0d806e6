// The environment of the `caisson exec` that a session's cell is. What exec finds there by name it
// gives to the cell (docs/policy.md), and a server has the environment of whoever started it: so
// nothing that enters a cell is taken from there. PATH leads to the interpreter and to the system's
// programs, whatever else the server's own names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"

namespace caisson::session {

// PATH of a cell. `path`: the server's, by which the interpreter is found.
std::string cell_path(const std::string& python, std::string_view path);

// `ours`: "K=V" of the server. What the words of a policy pass by name (--env-pass) stays.
std::vector<std::string> exec_variables(const std::vector<std::string>& ours, const SessionSpec&);

// The value of one, or nothing.
std::string_view value_of(const std::vector<std::string>& variables, std::string_view name);

}  // namespace caisson::session

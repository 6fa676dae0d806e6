// Claude Code's own command line, when it is there: the one program that knows for certain where
// its version keeps servers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "setup/clients.h"

namespace caisson::setup {

// The first `name` in PATH that can be run. Relative folders are passed over: in a project that
// somebody else wrote, "." holds their programs.
std::optional<std::string> find_program(const std::string& path_variable, const std::string& name);

std::vector<std::string> claude_add_words(const std::string& claude, Scope,
                                          const std::string& command);

// Runs it without a terminal, for a minute at most. An error carries its last line.
Result<void> run_quietly(const std::vector<std::string>& words, char** environment);

}  // namespace caisson::setup

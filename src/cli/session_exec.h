// Running code in a session from the command line: what it writes is shown as it comes.
#pragma once

#include "cli/session_client.h"
#include "cli/session_options.h"

namespace caisson {

// The exit code, by the call's end.
Result<int> exec_in_session(SessionClient& client, const SessionOptions& options);
// Line by line on a terminal.
Result<int> attach_to_session(SessionClient& client, const SessionOptions& options);

// 0 ok, 1 raised, 124 timeout, 130 interrupted, or that of sys.exit().
int exit_code_of(const boost::json::object& answer);
// Each a line on stderr.
void tell_notes(const boost::json::object& answer);

// A file, or stdin for "-".
Result<UniqueFd> open_input(const std::string& path);
// All of it, up to a bound.
Result<std::string> read_input(const std::string& path, size_t limit);

}  // namespace caisson

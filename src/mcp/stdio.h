// The transport of stdio: newline-delimited messages in, and nothing but messages out.
#pragma once

#include <chrono>
#include <functional>

#include "mcp/server.h"

namespace caisson::mcp {

struct StdioOptions {
  int input = 0, output = 1;
  // Called when the client has gone or a signal came, before the transport returns.
  std::function<Task<>()> at_end;
};

// Serves one client until EOF, a broken pipe, SIGINT, SIGTERM or SIGHUP.
Task<> serve_stdio(Server& server, std::shared_ptr<Client> client, StdioOptions options);

}  // namespace caisson::mcp

// What `caisson serve` leaves to other processes before it confines itself: the launchers of its
// sessions. One for the clients of the API; one for those of MCP, whose sessions have one policy.
#pragma once

#include <optional>
#include <string>

#include "cli/serve_options.h"
#include "session/launcher.h"

namespace caisson {

struct ServeLaunch {
  session::SessionOffer offer;  // to clients of the API; its `base` is every session of MCP's
  session::SessionHostOptions api_host, mcp_host;
  std::optional<session::Launcher> api, mcp;
};

// `state`: there already. `socket`: of the server, which is removed at its end.
Result<ServeLaunch> start_launchers(const ServeOptions& options, const Caller& caller,
                                    const std::string& state, const std::string& socket);

}  // namespace caisson

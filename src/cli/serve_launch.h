// What `caisson serve` leaves to other processes before it confines itself: the launchers of its
// sessions. One for the clients of the API; one for those of MCP, whose sessions have one policy.
#pragma once

#include <optional>
#include <string>

#include "cli/serve_options.h"
#include "mcp/rlm_texts.h"
#include "session/launcher.h"
#include "session/state_claim.h"

namespace caisson {

struct ServeLaunch {
  session::SessionOffer offer;  // to clients of the API; its `base` is every session of MCP's
  session::StateClaim state;    // of this offer, and of no other server while this one lives
  session::SessionHostOptions api_host, mcp_host;
  std::optional<session::Launcher> api, mcp;
  mcp::Reach reach;  // of the code of MCP's sessions
};

// `top`: the folder of all states, there already. `socket`: of the server, which is removed at its
// end.
Result<ServeLaunch> start_launchers(const ServeOptions& options, const Caller& caller,
                                    const std::string& top, const std::string& socket);

}  // namespace caisson

// What was said about the network, checked and made a NetworkPolicy.
#pragma once

#include "policy/mounts.h"

namespace caisson {

// "8000" or "8000:9000": a port of the cell, and the host's (the same when it is not said).
Result<PublishedPort> parse_published_port(std::string_view text);

Result<void> resolve_network(const Settings&, Policy&);
// --allow-socket: the socket itself, at its own path.
Result<void> add_sockets(const Scene&, Policy&);

}  // namespace caisson

// What was said about the network, checked and made a NetworkPolicy.
#pragma once

#include "policy/mounts.h"

namespace caisson {

// "8000" or "8000:9000": a port of the cell, and the host's (the same when it is not said).
Result<PublishedPort> parse_published_port(std::string_view text);

// A secret names the hosts that may have it, and so asks for them to be reached.
void allow_hosts_of_secrets(const std::vector<SecretSpec>& secrets,
                            std::vector<std::string>& allow);

Result<void> resolve_network(const Settings&, Policy&);
// --allow-socket: the socket itself, at its own path.
Result<void> add_sockets(const Scene&, Policy&);

}  // namespace caisson

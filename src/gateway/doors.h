// Where the cell's connections come in.
#pragma once

#include <vector>

#include "gateway/core.h"
#include "gateway/handover_receive.h"
#include "gateway/publish_door.h"

namespace caisson {

// Starts serving every socket that the cell handed over, and the published ports from `pool`.
Result<void> open_doors(Core& core, CellSockets handover, std::unique_ptr<PublishPool>& pool);

// One client of each kind; the socket is just accepted.
Task<> serve_tcp(Core& core, Socket client);       // transparent, or one of the proxies
Task<> serve_socks(Core& core, Stream& client);    // its first byte was looked at and put back
Task<> refuse_socks4(Core& core, Stream& client);  // of the same kind
Task<> serve_forward(Core& core, Socket client, uint16_t port);   // --forward: no rule is asked
Task<> serve_loopback(Core& core, Socket client, uint16_t port);  // a rule about the loopback
Task<> serve_dns_udp(Core& core, Socket socket);
Task<> serve_dns_tcp(Core& core, Socket client);

}  // namespace caisson

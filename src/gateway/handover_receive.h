// The sockets of one cell, as its child handed them over.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson {

struct CellSockets {
  std::vector<UniqueFd> tcp, dns_udp, dns_tcp, forward, pool;
};

// Waits for the one message on `cell_fd`, and refuses any other.
Result<CellSockets> receive_handover(int cell_fd);

}  // namespace caisson

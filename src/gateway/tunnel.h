// Bytes both ways until both sides have ended.
#pragma once

#include <string_view>

#include "gateway/core.h"
#include "gateway/pump.h"

namespace caisson {

struct TunnelLooks {
  bool for_placeholders = true;  // on their way up: a tunnel replaces none, so none may pass
  bool for_secrets = false;      // in a WebSocket's messages down: masked, the length kept
};

// An end of one side is passed on and the other side goes on; a failure of one wakes both. Spent
// budgets and placeholders on the loose are told as denials of `where`. True: both ended in order.
Task<bool> run_tunnel(Core& core, Stream& cell, Stream& other, const HostPort& where,
                      std::string_view protocol, TunnelLooks looks = {});

// The same, and peers whose tunnel failed are reset.
Task<> tunnel_or_reset(Core& core, Stream& cell, Stream& other, const HostPort& where,
                       std::string_view protocol, TunnelLooks looks = {});

}  // namespace caisson

// A policy's network, turned into what its gateway is started with.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/job.h"
#include "gateway/gateway.h"

namespace caisson {

struct GatewaySetup {
  GatewayConfig config;
  std::vector<UniqueFd> listeners;  // of published ports; the config has their numbers
};

Result<GatewaySetup> set_up_gateway(const Job& job);
// The variables of the cell: a placeholder for each secret, and where its authorities are.
GatewayFacts facts_for_cell(const GatewayConfig& config, const std::string& ca_pem);
// Of the secrets' values nothing is left in this process, its environment included.
void wipe_secrets(GatewayConfig& config, Job& job);

}  // namespace caisson

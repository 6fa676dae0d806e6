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
  std::vector<std::pair<std::string, std::string>> variables;  // of masked credentials
  std::vector<MaskedFile> files;
  std::string extra_authorities;      // PEM
  std::vector<std::string> warnings;  // for a person
};

// All that files and the environment say is read here, before the cell could change any of it.
Result<GatewaySetup> set_up_gateway(const Job& job);
// The host's interfaces, at the moment when the gateway is started.
void look_at_own_addresses(GatewayConfig& config);
// What a gateway that starts later would find wrong, said before the program runs.
Result<void> check_gateway_config(const GatewayConfig& config);
// The variables of the cell: a placeholder for each secret, and where its authorities are.
GatewayFacts facts_for_cell(const GatewaySetup& setup, const std::string& ca_pem,
                            const Policy& policy);
// What of a policy a running gateway can be told anew.
LiveRules live_rules_of(const NetworkPolicy& network);
// Of the secrets' values nothing is left in this process, its environment included.
void wipe_secrets(GatewayConfig& config, Job& job);

}  // namespace caisson

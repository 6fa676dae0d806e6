// The gateway of one cell: the only way out of its empty network namespace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateway/secret.h"
#include "rules/ip_address.h"
#include "rules/rules.h"

namespace caisson {

// What the gateway of one cell needs, complete before it starts: once confined it opens no file.
struct GatewayConfig {
  RuleTexts rules;

  std::vector<uint16_t> forward;  // host ports reachable inside, in the order of their listeners
  struct Publish {
    uint16_t cell_port = 0, host_port = 0;
  };
  std::vector<Publish> publish;
  std::vector<int> publish_listeners;  // on the host's loopback, already bound; same order

  uint64_t upload_budget = 0, download_budget = 0;  // bytes in all; 0: none set
  uint32_t max_connections = 1024;

  std::vector<std::string> dns_types;   // beyond A and AAAA: "SRV", "TXT"
  std::string resolv_conf, hosts_file;  // texts, read before confinement
  std::vector<IpAddress> own_addresses;

  std::string upstream_http_proxy, upstream_https_proxy, no_proxy;

  std::vector<Secret> secrets;
  std::string
      ca_bundle;  // PEM: whom the gateway trusts when it ends TLS and speaks to the host anew
};

// Runs until `control_fd` closes or says so. The caller's process is confined and has nothing else
// to do. Owns both descriptors and those of the config from here on.
int run_gateway(GatewayConfig config, int control_fd, int cell_fd);

}  // namespace caisson

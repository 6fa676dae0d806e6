// The gateway of one cell: the only way out of its empty network namespace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/secret.h"
#include "rules/credential_spec.h"
#include "rules/ip_address.h"
#include "rules/route_spec.h"
#include "rules/rules.h"

namespace caisson {

// What a running gateway can be told anew, as a whole. The cell trusts one authority from its start
// to its end and finds its placeholders there, so neither can change.
struct LiveRules {
  RuleTexts rules;
  std::vector<std::string> mitm_domains;  // hosts that go through the proxy of MitmProxy
  std::vector<std::string> tls_excluded;  // hosts whose TLS isn't ended
  uint32_t max_tunnels = UINT32_MAX;      // whose TLS is ended, at once
  uint32_t handshake_ms = 20'000;         // for the cell's side of one
  AwsSigning aws_signing;
};

// What the gateway of one cell needs, complete before it starts: once confined it opens no file.
struct GatewayConfig {
  int heard_fd = -1;  // by which the supervisor says that it has heard of a denial (heard.h)
  RuleTexts rules;
  LiveRules live;  // all but its rules, which stand above

  std::vector<uint16_t> forward;   // host ports reachable inside, in the order of their listeners
  std::vector<uint16_t> loopback;  // behind those: by the rules about the host's loopback
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
  uint16_t http_proxy_port = 0, socks_proxy_port = 0;  // in place of those, on the host's loopback

  bool ends_all_tls = false;           // but that of live.tls_excluded
  bool needs_authority = false;        // whether or not a secret turns out to be of use
  std::string ca_certificate, ca_key;  // PEM; "": an authority is made
  std::vector<std::string> strip_response_headers;
  bool refuse_opaque_tunnels = false;
  bool require_host_match = false;

  std::vector<Secret> secrets;
  bool secrets_in_clear = false;
  std::vector<AwsKeys> aws_keys;
  std::string
      ca_bundle;  // PEM: whom the gateway trusts when it ends TLS and speaks to the host anew
};

// Runs until `control_fd` closes or says so. The caller's process is confined and has nothing else
// to do. Owns both descriptors and those of the config from here on.
int run_gateway(GatewayConfig config, int control_fd, int cell_fd);

}  // namespace caisson

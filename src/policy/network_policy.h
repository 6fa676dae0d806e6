// What a cell may reach beyond itself. Empty means nothing: there is no word for "everything" but
// the grant of the host's network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rules/credential_spec.h"
#include "rules/route_spec.h"
#include "rules/rules.h"
#include "rules/secret_spec.h"

namespace caisson {

struct PublishedPort {
  uint16_t cell_port = 0, host_port = 0;
  bool operator==(const PublishedPort&) const = default;
};

// What only the srt door says. Whoever says it checks it: here it is as it will be used, with
// absolute paths and every list complete.
struct NetworkDetails {
  // A gateway even when nothing is allowed yet: denials are told, and rules may come later.
  bool always = false;

  // Proxies of somebody else's on the host's loopback; 0: none. Our rules come first, and what they
  // allow goes through it. With both, what came by SOCKS goes by SOCKS.
  uint16_t http_proxy_port = 0, socks_proxy_port = 0;
  std::optional<ParentProxy> parent_proxy;  // none: the one of the host's environment
  std::optional<MitmProxy> mitm;            // not together with end_tls
  std::optional<TlsEnding> end_tls;

  std::vector<std::string> strip_response_headers;  // names; case and - _ . make no difference
  bool refuse_opaque_tunnels = false;  // only what the gateway reads passes: HTTP and ended TLS
  bool require_host_match = false;     // a request that names another host: 421 instead of 403

  // The variables of these must not be passed to the cell as they are: the gateway's facts set
  // them.
  std::vector<MaskSpec> masks;
  bool secrets_in_clear = false;   // masked secrets may go to their hosts without TLS too
  std::vector<AwsPair> aws_pairs;  // beside the usual three names, which are a pair by themselves
  AwsSigning aws_signing;

  bool operator==(const NetworkDetails&) const = default;
};

struct NetworkPolicy {
  RuleTexts rules;
  std::vector<SecretSpec> secrets;  // where each value is and who may have it; never the value
  std::vector<uint16_t> forward;    // host ports that the cell finds on its own localhost
  // And those that rules about the host's loopback name: each connection is judged by the rules.
  std::vector<uint16_t> loopback;
  std::vector<PublishedPort> publish;
  uint64_t upload_bytes = 0, download_bytes = 0;  // in all; 0: no budget was set
  uint32_t connections = 0;                       // at once
  std::vector<std::string> dns_types;             // beyond A and AAAA: "SRV", "TXT"
  NetworkDetails details;

  bool operator==(const NetworkPolicy&) const = default;

  // Then the cell has a gateway process beside it; without it costs nothing.
  bool needs_gateway() const {
    return !rules.allow.empty() || !rules.requests.empty() || !secrets.empty() ||
           !forward.empty() || !publish.empty() || !details.masks.empty() || details.always;
  }
  // Requests can be judged, and credentials put in, only where the gateway reads them.
  bool ends_tls() const {
    return !rules.requests.empty() || !secrets.empty() || !details.masks.empty() ||
           details.end_tls.has_value();
  }
};

}  // namespace caisson

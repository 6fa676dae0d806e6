// What a cell may reach beyond itself. Empty means nothing: there is no word for "everything" but
// the grant of the host's network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rules/rules.h"
#include "rules/secret_spec.h"

namespace caisson {

struct PublishedPort {
  uint16_t cell_port = 0, host_port = 0;
  bool operator==(const PublishedPort&) const = default;
};

struct NetworkPolicy {
  RuleTexts rules;
  std::vector<SecretSpec> secrets;  // where each value is and who may have it; never the value
  std::vector<uint16_t> forward;    // host ports that the cell finds on its own localhost
  std::vector<PublishedPort> publish;
  uint64_t upload_bytes = 0, download_bytes = 0;  // in all; 0: no budget was set
  uint32_t connections = 0;                       // at once
  std::vector<std::string> dns_types;             // beyond A and AAAA: "SRV", "TXT"

  bool operator==(const NetworkPolicy&) const = default;

  // Then the cell has a gateway process beside it; without it costs nothing.
  bool needs_gateway() const {
    return !rules.allow.empty() || !rules.requests.empty() || !secrets.empty() ||
           !forward.empty() || !publish.empty();
  }
  // Requests can be judged, and credentials put in, only where the gateway reads them.
  bool ends_tls() const { return !rules.requests.empty() || !secrets.empty(); }
};

}  // namespace caisson

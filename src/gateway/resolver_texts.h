// The host's resolver configuration, from texts that were read before the gateway was confined.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rules/host.h"

namespace caisson {

struct ResolvConf {
  std::vector<IpAddress> servers;   // at least one
  std::vector<std::string> search;  // canonical names
};
ResolvConf parse_resolv_conf(std::string_view text);

// Names of /etc/hosts, in the order of its lines.
using HostsTable = std::unordered_map<std::string, std::vector<IpAddress>>;
HostsTable parse_hosts(std::string_view text);

}  // namespace caisson

#include "rules/host_set.h"

namespace caisson {

Result<HostSet> HostSet::make(const std::vector<std::string>& patterns) {
  HostSet set;
  for (const std::string& text : patterns) {
    HostPattern pattern = TRY(parse_host_pattern(text, PatternUse::kAllow));
    set.table_.at(pattern).add(pattern.port, text);
  }
  return set;
}

bool HostSet::covers(const Host& host, uint16_t port) const {
  return table_.find(host, [&](const PortTable& ports) { return ports.find(port) != nullptr; });
}

}  // namespace caisson

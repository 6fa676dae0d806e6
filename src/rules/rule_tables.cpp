#include "rules/rule_tables.h"

#include <algorithm>

namespace caisson {

const std::string* PortTable::find_exact(uint16_t port) const {
  auto found = rules_.find(port);
  return found == rules_.end() ? nullptr : &found->second;
}

const std::string* PortTable::find(uint16_t port) const {
  if (rules_.empty()) return nullptr;
  const std::string* every = find_exact(HostPattern::kAnyPort);
  return every ? every : find_exact(port);
}

void RequestTable::add(RequestRule rule, const std::string& text) {
  ports_.try_emplace(rule.host.port, text);
  std::string prefix = rule.glob.path.substr(0, rule.glob.path.find('*'));
  auto place = std::lower_bound(prefix_sizes_.begin(), prefix_sizes_.end(), prefix.size());
  if (place == prefix_sizes_.end() || *place != prefix.size())
    prefix_sizes_.insert(place, prefix.size());
  by_prefix_[std::move(prefix)].push_back({std::move(rule), text});
}

const std::string* RequestTable::any_of_port(uint16_t port) const {
  auto found = ports_.find(port);
  return found == ports_.end() ? nullptr : &found->second;
}

const std::string* RequestTable::match(Scheme scheme, uint16_t port, std::string_view method,
                                       const RequestPath& path) const {
  for (size_t size : prefix_sizes_) {
    if (size > path.path.size()) break;
    auto found = by_prefix_.find(std::string_view(path.path).substr(0, size));
    if (found == by_prefix_.end()) continue;
    for (const auto& [rule, text] : found->second)
      if (rule.scheme == scheme && rule.host.port == port && rule.matches_method(method) &&
          rule.matches_path(path))
        return &text;
  }
  return nullptr;
}

void RangeTable::add(const Cidr& range, const std::string& rule) {
  auto same = [&](const Length& length) {
    return length.is_v6 == range.base.is_v6 && length.prefix == range.prefix;
  };
  auto found = std::find_if(lengths_.begin(), lengths_.end(), same);
  if (found == lengths_.end())
    found = lengths_.insert(found, Length{range.base.is_v6, range.prefix, {}});
  found->rules.try_emplace(range.base, rule);
}

const std::string* RangeTable::find(const IpAddress& address) const {
  for (const Length& length : lengths_) {
    if (length.is_v6 != address.is_v6) continue;
    auto found = length.rules.find(masked(address, length.prefix));
    if (found != length.rules.end()) return &found->second;
  }
  return nullptr;
}

}  // namespace caisson

// Tables in which a verdict costs a few look-ups however many rules there are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/control.h"
#include "rules/host_pattern.h"
#include "rules/ip_address.h"
#include "rules/request_rule.h"

namespace caisson {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <typename T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

// What is kept per host, found by the host's name, by each of its parents and by its address.
template <typename T>
class HostTable {
 public:
  T& at(const HostPattern& pattern) {
    switch (pattern.kind) {
      case HostPattern::Kind::kName:
        return names_[pattern.host.name];
      case HostPattern::Kind::kBelow:
        return below_[pattern.host.name];
      case HostPattern::Kind::kAddress:
        return addresses_[*pattern.host.address];
      case HostPattern::Kind::kEverything:
        break;
    }
    return everything_;
  }

  // Calls visit(T) for each entry that speaks of this host, until one returns true.
  template <typename Visit>
  bool find(const Host& host, Visit visit) const {
    if (visit(everything_)) return true;
    if (host.is_address()) {
      auto found = addresses_.find(*host.address);
      return found != addresses_.end() && visit(found->second);
    }
    if (auto found = names_.find(host.name); found != names_.end() && visit(found->second))
      return true;
    if (below_.empty()) return false;
    if (!control_enabled("rules-labels")) return find_by_ending(host.name, visit);
    // Only whole labels: "evilgithub.com" isn't below "github.com", and neither is "github.com".
    std::string_view rest = host.name;
    for (size_t dot = rest.find('.'); dot != rest.npos; dot = rest.find('.')) {
      rest.remove_prefix(dot + 1);
      if (auto found = below_.find(rest); found != below_.end() && visit(found->second))
        return true;
    }
    return false;
  }

  bool has_below(std::string_view name) const { return below_.find(name) != below_.end(); }

  bool empty() const {
    return names_.empty() && below_.empty() && addresses_.empty() && everything_.empty();
  }

 private:
  // What a comparison of endings would make of a wildcard; for the mutant alone.
  template <typename Visit>
  bool find_by_ending(const std::string& name, Visit& visit) const {
    for (const auto& [ending, entry] : below_)
      if (name.ends_with(ending) && visit(entry)) return true;
    return false;
  }

  TextMap<T> names_, below_;
  std::unordered_map<IpAddress, T, IpAddressHash> addresses_;
  T everything_;
};

// The ports of one host, each with the text of the rule that spoke of it.
class PortTable {
 public:
  void add(uint16_t port, const std::string& rule) { rules_.try_emplace(port, rule); }
  const std::string* find(uint16_t port) const;        // this port, or every port
  const std::string* find_exact(uint16_t port) const;  // a rule that names the port
  bool empty() const { return rules_.empty(); }
  const std::unordered_map<uint16_t, std::string>& by_port() const { return rules_; }

 private:
  std::unordered_map<uint16_t, std::string> rules_;
};

// The request rules of one host, found by what stands before the first '*' of their path.
class RequestTable {
 public:
  void add(RequestRule rule, const std::string& text);
  bool empty() const { return ports_.empty(); }
  const std::string* any_of_port(uint16_t port) const;
  const std::unordered_map<uint16_t, std::string>& by_port() const { return ports_; }
  const std::string* match(Scheme scheme, uint16_t port, std::string_view method,
                           const RequestPath& path) const;

 private:
  struct Entry {
    RequestRule rule;
    std::string text;
  };
  std::unordered_map<uint16_t, std::string> ports_;  // the first rule of each
  std::vector<size_t> prefix_sizes_;                 // sorted, each once
  TextMap<std::vector<Entry>> by_prefix_;
};

// Ranges of addresses: one look-up per prefix length in use.
class RangeTable {
 public:
  void add(const Cidr& range, const std::string& rule);
  const std::string* find(const IpAddress& address) const;

 private:
  struct Length {
    bool is_v6;
    uint8_t prefix;
    std::unordered_map<IpAddress, std::string, IpAddressHash> rules;
  };
  std::vector<Length> lengths_;
};

}  // namespace caisson

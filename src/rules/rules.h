// What a cell may reach: pure verdicts, no sockets, no clock, no look-ups.
//
// - Nothing said means nothing allowed. A denial wins over every allowance.
// - A pattern without a port means every port, to allow as well as to deny (ssh and psql go through
//   the gateway too); with a port, that port alone.
// - An address that is asked for as such needs an allow rule that names exactly this address.
// - A name may resolve to public and to private addresses (10/8, 172.16/12, 192.168/16, 100.64/10,
//   fc00::/7), since company hosts live there. Loopback, "this network" (0/8, ::), link-local,
//   cloud metadata, multicast, broadcast, reserved ranges (240/4, Teredo, …), the gateway's own
//   fake range (198.18.0.0/15) and the host's own addresses are refused, unless an allow rule names
//   that address itself with that port. `localhost` in an allow rule names 127.0.0.1 and ::1 for
//   that name.
// - Denied addresses are ranges that nothing reaches: neither by name nor as such, nor through
// NAT64
//   or 6to4, whatever is allowed.
// - A request rule ("GET,HEAD https://api.github.com/repos/*") also allows connections to that host
// on
//   that port. A host with a request rule allows only requests that match one, on every port but
//   those that an allow rule names together with the port ("github.com:22" beside
//   "GET https://github.com/*").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "rules/host.h"
#include "rules/request_rule.h"
#include "rules/rule_tables.h"

namespace caisson {

struct RuleTexts {
  std::vector<std::string> allow, deny, requests;
  std::vector<std::string> denied_addresses;  // ranges such as 10.0.0.0/8
  // The text of a deny rule, and what is told to whoever meets it.
  std::vector<std::pair<std::string, std::string>> deny_reasons;
  bool operator==(const RuleTexts&) const = default;
};

inline constexpr size_t kMaxRules = 100'000;   // of each kind
inline constexpr size_t kMaxRuleText = 4'096;  // bytes of one rule
inline constexpr size_t kMaxReason = 512;      // and of why something is denied

struct Verdict {
  bool allowed = false;
  std::string rule;           // the text of the rule that decided, or kDefaultRule
  std::string reason;         // one printable line
  std::string how_to_allow;   // of a denial: "--allow-domain example.com:443"
  bool reason_given = false;  // whoever wrote the rule said the reason
};
inline constexpr std::string_view kDefaultRule = "default: nothing is allowed";

// A value: copy it, or make it anew and swap it in while a cell runs. Without rules it allows
// nothing.
class Rules {
 public:
  static Result<Rules> make(const RuleTexts& texts);

  // May a connection to it be made at all?
  Verdict connect(const Host& host, uint16_t port) const;

  // May the name be looked up: is any port of it allowed?
  Verdict resolve(const Host& name) const;

  // Then TLS to it must be ended, and opaque tunnels are refused.
  bool has_request_rules(const Host& host, uint16_t port) const;

  // `path` is the target as sent, in origin form ("/repos/x?page=2"). Includes connect().
  Verdict request(Scheme scheme, const Host& host, uint16_t port, std::string_view method,
                  std::string_view path) const;

  // May the connection to `name` go to this address that it resolved to? Includes connect().
  Verdict resolved(const Host& name, uint16_t port, const IpAddress& address,
                   std::span<const IpAddress> own_addresses) const;

 private:
  // The text of the rule that speaks of it, null when none does.
  const std::string* denial_of(const Host& host, uint16_t port) const;
  const std::string* allowance_of(const Host& host, uint16_t port) const;
  bool may_resolve_to(const Host& name, const Host& place, uint16_t port) const;
  Verdict nothing_allows(const Host& host, uint16_t port) const;
  // False as long as the control is there: no rule at all is no rule for everything.
  bool empty_means_all() const;

  Result<void> add_hosts(const std::vector<std::string>& texts, PatternUse use);
  Result<void> add_requests(const std::vector<std::string>& texts);
  Result<void> add_ranges(const std::vector<std::string>& texts);
  Result<void> add_reasons(const RuleTexts& texts);
  Verdict denied_by(const std::string& rule, const std::string& what) const;

  HostTable<PortTable> allow_, deny_;
  HostTable<RequestTable> requests_;
  RangeTable ranges_;
  TextMap<std::string> reasons_;  // of deny rules, by their text
};

}  // namespace caisson

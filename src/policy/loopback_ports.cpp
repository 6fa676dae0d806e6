#include "policy/loopback_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace caisson {
namespace {

// A look at the text first: lists have thousands of rules, and a start has no time to read them
// all once more.
bool may_be_loopback(std::string_view text) {
  return !text.empty() && (text.starts_with("127.") || text[0] == '[' || (text[0] | 32) == 'l');
}

std::optional<HostPattern> as_loopback(std::string_view text) {
  if (!may_be_loopback(text)) return std::nullopt;
  Result<HostPattern> pattern = parse_host_pattern(text, PatternUse::kAllow);
  bool exact = pattern && (pattern->kind == HostPattern::Kind::kName ||
                           pattern->kind == HostPattern::Kind::kAddress);
  if (!exact || !is_loopback(pattern->host)) return std::nullopt;
  return std::move(*pattern);
}

std::optional<HostPattern> loopback_of_request(const std::string& text) {
  size_t scheme = text.find("://");
  if (scheme == text.npos || !may_be_loopback(std::string_view(text).substr(scheme + 3)))
    return std::nullopt;
  Result<RequestRule> rule = parse_request_rule(text);
  bool exact = rule && rule->host.kind != HostPattern::Kind::kBelow;
  if (!exact || !is_loopback(rule->host.host)) return std::nullopt;
  return std::move(rule->host);
}

bool denies(const RuleTexts& rules, const HostPattern& place) {
  auto by_pattern = [&](const std::string& text) {
    Result<HostPattern> denied = parse_host_pattern(text, PatternUse::kDeny);
    return denied && denied->matches(place.host, place.port);
  };
  auto by_range = [&](const std::string& text) {
    Result<Cidr> range = parse_cidr(text);
    return range && place.host.is_address() && range->contains(*place.host.address);
  };
  return std::ranges::any_of(rules.deny, by_pattern) ||
         std::ranges::any_of(rules.denied_addresses, by_range);
}

}  // namespace

std::vector<uint16_t> loopback_ports(const RuleTexts& rules) {
  std::set<uint16_t> ports;
  auto add = [&](const std::optional<HostPattern>& place) {
    if (place && place->port != HostPattern::kAnyPort && !ports.contains(place->port) &&
        !denies(rules, *place))
      ports.insert(place->port);
  };
  for (const std::string& text : rules.allow) add(as_loopback(text));
  for (const std::string& text : rules.requests) add(loopback_of_request(text));
  return {ports.begin(), ports.end()};
}

Result<void> check_loopback_rule(std::string_view text) {
  std::optional<HostPattern> place = as_loopback(text);
  if (!place || place->port != HostPattern::kAnyPort) return {};
  return Error::plain(
      fmt::format("{} names the host's loopback without a port", quoted(text)),
      fmt::format("name the port: --forward PORT, or {}:PORT by the rules", place->host.text()));
}

}  // namespace caisson

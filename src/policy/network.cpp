#include "policy/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "policy/loopback_ports.h"
#include "policy/schema.h"
#include "policy/units.h"
#include "rules/host_pattern.h"

namespace caisson {

Result<PublishedPort> parse_published_port(std::string_view text) {
  size_t colon = text.find(':');
  uint32_t cell = TRY(parse_count(text.substr(0, colon), 1, 65535));
  uint32_t host = cell;
  if (colon != std::string_view::npos) host = TRY(parse_count(text.substr(colon + 1), 1, 65535));
  return PublishedPort{static_cast<uint16_t>(cell), static_cast<uint16_t>(host)};
}

void allow_hosts_of_secrets(const std::vector<SecretSpec>& secrets,
                            std::vector<std::string>& allow) {
  for (const SecretSpec& secret : secrets)
    for (const std::string& host : secret.hosts) {
      Result<HostPattern> pattern = parse_host_pattern(host, PatternUse::kAllow);
      std::string text = pattern && pattern->port != HostPattern::kAnyPort ? host : host + ":443";
      if (std::ranges::find(allow, text) == allow.end()) allow.push_back(std::move(text));
    }
}

namespace {

// Sorted and once each: the order in which rules were said means nothing, so two policies that say
// the same have the same digest.
std::vector<std::string> texts_of(const std::vector<std::pair<std::string, Origin>>& said,
                                  const char* field, Policy& policy) {
  std::set<std::string> texts;
  for (const auto& [text, origin] : said)
    if (texts.insert(text).second)
      policy.origins.emplace_back(fmt::format("{}.{}", field, text), origin);
  return {texts.begin(), texts.end()};
}

Result<void> check_secret_names(const std::vector<SecretSpec>& secrets) {
  std::set<std::string> names;
  for (const SecretSpec& secret : secrets)
    if (!names.insert(secret.name).second)
      return Error::plain(fmt::format("--secret {}: the name is there twice", secret.name),
                          "name every host in one: NAME=env:VARIABLE@host,host");
  return {};
}

// What the gateway itself listens on inside, and what one message to it can carry.
Result<void> check_forwards(const NetworkPolicy& network) {
  constexpr uint16_t kOwn[] = {53, 3128};
  constexpr size_t kMostForwards = 180;
  for (const auto* ports : {&network.forward, &network.loopback})
    for (uint16_t own : kOwn)
      if (std::ranges::find(*ports, own) != ports->end())
        return Error::plain(
            fmt::format("the host's port {} can't be on the cell's own loopback", own),
            "the gateway listens there; let the service listen on another port too");
  if (network.forward.size() + network.loopback.size() > kMostForwards)
    return Error::plain("too many ports of the host's loopback",
                        fmt::format("{} at most", kMostForwards));
  return {};
}

Result<void> check_whole(const Settings& said, const Policy& policy) {
  if (!policy.network.needs_gateway()) return {};
  if (policy.has(GrantKind::kHostNetwork))
    return Error::plain(fmt::format("{}: the host's network and rules for it exclude each other",
                                    said.allow_network.origin),
                        "leave out --allow-network, or the rules");
  if (policy.tier == Tier::kLandlock)
    return Error::plain("tier landlock has no network of its own to give rules to",
                        "use --tier process");
  return {};
}

}  // namespace

Result<void> resolve_network(const Settings& said, Policy& policy) {
  NetworkPolicy& network = policy.network;
  network.rules.allow = texts_of(said.allow_domains, "network.allow", policy);
  network.rules.deny = texts_of(said.deny_domains, "network.deny", policy);
  network.rules.requests = texts_of(said.requests, "network.requests", policy);
  network.rules.denied_addresses = texts_of(said.deny_addresses, "network.deny_addresses", policy);
  network.rules.deny_reasons = said.deny_reasons;
  network.details = said.network_details;
  network.dns_types = texts_of(said.dns_types, "network.dns_types", policy);
  for (const auto& [secret, origin] : said.secrets) {
    network.secrets.push_back(secret);
    policy.origins.emplace_back("network.secrets." + secret.name, origin);
  }
  TRY(check_secret_names(network.secrets));
  allow_hosts_of_secrets(network.secrets, network.rules.allow);
  for (const auto& [port, origin] : said.forward)
    if (std::ranges::find(network.forward, port) == network.forward.end()) {
      network.forward.push_back(port);
      policy.origins.emplace_back(fmt::format("network.forward.{}", port), origin);
    }
  for (uint16_t port : loopback_ports(network.rules))
    if (std::ranges::find(network.forward, port) == network.forward.end())
      network.loopback.push_back(port);
  for (const auto& [port, origin] : said.publish) {
    network.publish.push_back(port);
    policy.origins.emplace_back(fmt::format("network.publish.{}", port.cell_port), origin);
  }
  network.upload_bytes = said.upload_limit.value.value_or(0);
  network.download_bytes = said.download_limit.value.value_or(0);
  if (said.upload_limit) policy.origins.emplace_back("network.upload", said.upload_limit.origin);
  if (said.download_limit)
    policy.origins.emplace_back("network.download", said.download_limit.origin);
  TRY(check_forwards(network));
  return check_whole(said, policy);
}

Result<void> add_sockets(const Scene& scene, Policy& policy) {
  for (const auto& [text, origin] : scene.settings.sockets) {
    std::string path = TRY(clean_path(text, scene.caller.cwd));
    std::optional<std::string> source = scene.files.canonical(path);
    std::optional<FileIdentity> found = source ? scene.files.look_exactly(*source) : std::nullopt;
    if (!found || found->kind != FileIdentity::Kind::kSocket)
      return Error::plain(fmt::format("{}: {} is not a socket", origin, path),
                          "name the socket file of a service that is running");
    policy.mounts.push_back({.source = *source,
                             .target = path,
                             .access = Access::kReadOnly,
                             .origin = origin,
                             .device = found->device,
                             .inode = found->inode,
                             .is_directory = false});
  }
  return {};
}

}  // namespace caisson

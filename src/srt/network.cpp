// network.* and credentials.* → rules for the gateway.
#include <fmt/format.h>

#include "policy/network.h"
#include "srt/mapping.h"

namespace caisson::srt {

namespace {

Result<void> map_masks(const Scene& scene, Settings& to) {
  for (const Credential& one : scene.said.credentials) {
    if (!one.mask) continue;
    MaskSpec spec = one.spec;
    if (spec.source == SecretSource::kFile) spec.from = TRY(absolute_path(spec.from, scene.caller));
    if (spec.hosts.empty()) spec.hosts = scene.said.network.allowed;
    if (spec.hosts.empty())
      return Error::plain(
          fmt::format("{}: nobody may have it: allowedDomains is empty", one.origin),
          "allow the host that needs it, or use mode deny");
    to.network_details.masks.push_back(std::move(spec));
  }
  return {};
}

Result<void> make_paths_absolute(const Scene& scene, NetworkDetails& details) {
  auto fix = [&](std::string& path) -> Result<void> {
    if (!path.empty()) path = TRY(absolute_path(path, scene.caller));
    return {};
  };
  if (details.mitm) TRY(fix(details.mitm->socket_path));
  if (!details.end_tls) return {};
  TRY(fix(details.end_tls->certificate_path));
  TRY(fix(details.end_tls->key_path));
  for (std::string& path : details.end_tls->extra_ca_paths) TRY(fix(path));
  return {};
}

Result<void> map_sockets(const Scene& scene, Settings& to) {
  const Network& said = scene.said.network;
  if (said.all_unix_sockets) to.file_rules.sockets.push_back("/");
  for (const std::string& text : said.unix_sockets) {
    std::string path = TRY(absolute_path(text, scene.caller));
    to.file_rules.sockets.push_back(path);
    if (!to.file_rules.host_view && scene.files.look(path))  // it is not there without a mount
      to.sockets.emplace_back(path, "network.allowUnixSockets");
  }
  return {};
}

}  // namespace

RuleTexts rule_texts(const Network& network) {
  return {.allow = network.allowed,
          .deny = network.denied,
          .requests = {},
          .denied_addresses = network.denied_addresses,
          .deny_reasons = network.reasons};
}

Result<void> map_network(const Scene& scene, Mapped& mapped) {
  const Network& said = scene.said.network;
  Settings& to = mapped.settings;
  TRY(map_sockets(scene, to));
  if (said.disabled) {
    to.allow_network.set("network.disabled", "network.disabled");
    return {};
  }
  for (const std::string& one : said.allowed)
    to.allow_domains.emplace_back(one, "network.allowedDomains");
  for (const std::string& one : said.denied)
    to.deny_domains.emplace_back(one, "network.deniedDomains");
  for (const std::string& one : said.denied_addresses)
    to.deny_addresses.emplace_back(one, "network.deniedResolvedAddresses");
  to.deny_reasons = said.reasons;
  to.network_details = said.details;
  // Nothing allowed is an answer too: the program is told which rule refused it.
  to.network_details.always = true;
  TRY(make_paths_absolute(scene, to.network_details));
  TRY(map_masks(scene, to));
  for (const std::string& one : said.publish)
    to.publish.emplace_back(TRY(parse_published_port(one)), "network.publish");
  return {};
}

}  // namespace caisson::srt

#include "cli/gateway_setup.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "base/scope_exit.h"
#include "cli/gateway_masks.h"
#include "gateway/ca_bundle.h"
#include "gateway/placeholder.h"
#include "gateway/upstream_proxy.h"
#include "host/probe.h"

namespace caisson {

namespace {

constexpr size_t kMostSystemText = 1 << 20, kMostBundle = 8 << 20;

Result<std::string> secret_value(const SecretSpec& spec, const Job& job) {
  if (spec.source == SecretSource::kEnvironment) {
    auto found = job.caller.environment.find(spec.from);
    if (found == job.caller.environment.end())
      return Error::plain(
          fmt::format("--secret {}: {} is not set here", spec.name, spec.from),
          fmt::format("export {}=…, or name a file: {}=file:PATH@host", spec.from, spec.name));
    return check_secret_value(spec, found->second);
  }
  std::string path = spec.from;
  if (path.starts_with("~/")) path = job.caller.home + path.substr(1);
  std::optional<std::string> text = RealHostFiles().read(path, kMaxSecretValue + 2);
  if (!text)
    return Error::plain(fmt::format("--secret {}: cannot read {} as a file", spec.name, path),
                        "name a file that holds the value alone");
  return check_secret_value(spec, std::move(*text));
}

Result<std::vector<Secret>> read_secrets(const Job& job) {
  std::vector<Secret> secrets;
  for (const SecretSpec& spec : job.policy.network.secrets) {
    Secret secret{.name = spec.name, .value = TRY(secret_value(spec, job)), .hosts = spec.hosts};
    secret.placeholder = TRY(make_placeholder(spec.name));
    secret.in_body = spec.in_body;
    secret.in_url = spec.in_url;
    secrets.push_back(std::move(secret));
  }
  return secrets;
}

std::vector<IpAddress> own_addresses() {
  std::vector<IpAddress> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  ScopeExit free_list([&] { ::freeifaddrs(list); });
  for (ifaddrs* one = list; one; one = one->ifa_next) {
    if (!one->ifa_addr) continue;
    IpAddress address;
    if (one->ifa_addr->sa_family == AF_INET) {
      ::memcpy(address.bytes.data(), &reinterpret_cast<sockaddr_in*>(one->ifa_addr)->sin_addr, 4);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      address.is_v6 = true;
      ::memcpy(address.bytes.data(), &reinterpret_cast<sockaddr_in6*>(one->ifa_addr)->sin6_addr,
               16);
    } else {
      continue;
    }
    found.push_back(address);
  }
  return found;
}

// Bound before anything runs, so that a port that is taken is an error and not a riddle.
Result<UniqueFd> listen_on_loopback(uint16_t port) {
  UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), 128) != 0)
    return Error::system(fmt::format("--publish: listen on the host's 127.0.0.1:{}", port))
        .with_hint("another host port: --publish PORT:HOSTPORT");
  return fd;
}

std::string either_case(const Job& job, const char* upper, const char* lower) {
  std::string value = job.caller.env(lower);
  return value.empty() ? job.caller.env(upper) : value;
}

std::string host_bundle(std::vector<std::string>* present = nullptr) {
  std::string text;
  for (std::string_view path : kCaBundlePaths) {
    std::optional<std::string> found = RealHostFiles().read(std::string(path), kMostBundle);
    if (!found) continue;
    if (present) present->emplace_back(path);
    if (text.empty()) text = std::move(*found);
  }
  return text;
}

void wipe_variable(const std::string& name, Job& job) {
  auto found = job.caller.environment.find(name);
  if (found != job.caller.environment.end())
    ::explicit_bzero(found->second.data(), found->second.size());
  if (char* value = ::getenv(name.c_str())) ::explicit_bzero(value, ::strlen(value));
}

void choose_proxies(const Job& job, GatewayConfig& config) {
  const NetworkDetails& details = job.policy.network.details;
  config.http_proxy_port = details.http_proxy_port;
  config.socks_proxy_port = details.socks_proxy_port;
  if (const auto& parent = details.parent_proxy) {
    config.upstream_http_proxy = parent->http;
    config.upstream_https_proxy = parent->https;
    config.no_proxy = parent->no_proxy;
    return;
  }
  config.upstream_http_proxy = either_case(job, "HTTP_PROXY", "http_proxy");
  config.upstream_https_proxy = either_case(job, "HTTPS_PROXY", "https_proxy");
  config.no_proxy = either_case(job, "NO_PROXY", "no_proxy");
}

Result<std::string> read_pem(const std::string& path) {
  std::optional<std::string> text = RealHostFiles().read(path, kMostSystemText);
  if (!text)
    return Error::plain(fmt::format("cannot read {}", path), "a PEM file that you may read");
  return std::move(*text);
}

Result<void> add_tls_ending(const TlsEnding& ending, GatewaySetup& setup) {
  setup.config.ends_all_tls = true;
  if (!ending.certificate_path.empty()) {
    setup.config.ca_certificate = TRY(read_pem(ending.certificate_path));
    setup.config.ca_key = TRY(read_pem(ending.key_path));
    // Whoever has it could be every host to this cell and to others that trust the authority.
    setup.files.push_back({ending.key_path, ""});
  }
  for (const std::string& path : ending.extra_ca_paths)
    setup.extra_authorities += TRY(read_pem(path)) + "\n";
  return {};
}

Result<void> add_details(const Job& job, GatewaySetup& setup) {
  const NetworkDetails& details = job.policy.network.details;
  GatewayConfig& config = setup.config;
  config.live = live_rules_of(job.policy.network);
  config.strip_response_headers = details.strip_response_headers;
  config.refuse_opaque_tunnels = details.refuse_opaque_tunnels;
  config.require_host_match = details.require_host_match;
  config.secrets_in_clear = details.secrets_in_clear;
  if (details.end_tls) TRY(add_tls_ending(*details.end_tls, setup));
  if (details.masks.empty()) return {};
  Masks masks = TRY(make_masks(details, job.caller, RealHostFiles()));
  for (Secret& secret : masks.secrets) config.secrets.push_back(std::move(secret));
  config.aws_keys = std::move(masks.aws_keys);
  for (auto& variable : masks.variables) setup.variables.push_back(std::move(variable));
  for (MaskedFile& file : masks.files) setup.files.push_back(std::move(file));
  setup.warnings = std::move(masks.warnings);
  return {};
}

}  // namespace

Result<GatewaySetup> set_up_gateway(const Job& job) {
  const NetworkPolicy& network = job.policy.network;
  GatewaySetup setup;
  GatewayConfig& config = setup.config;
  config.rules = network.rules;
  config.forward = network.forward;
  config.loopback = network.loopback;
  for (const PublishedPort& port : network.publish) {
    setup.listeners.push_back(TRY(listen_on_loopback(port.host_port)));
    config.publish.push_back({port.cell_port, port.host_port});
    config.publish_listeners.push_back(setup.listeners.back().get());
  }
  config.upload_budget = network.upload_bytes;
  config.download_budget = network.download_bytes;
  config.max_connections = network.connections;
  config.dns_types = network.dns_types;
  RealHostFiles files;
  config.resolv_conf = files.read("/etc/resolv.conf", kMostSystemText).value_or("");
  config.hosts_file = files.read("/etc/hosts", kMostSystemText).value_or("");
  choose_proxies(job, config);
  config.secrets = TRY(read_secrets(job));
  for (const Secret& secret : config.secrets)
    setup.variables.emplace_back(secret.name, secret.placeholder);
  TRY(add_details(job, setup));
  config.needs_authority = network.ends_tls();  // whose certificate will be waited for
  if (network.ends_tls()) config.ca_bundle = host_bundle() + "\n" + setup.extra_authorities;
  return setup;
}

void look_at_own_addresses(GatewayConfig& config) { config.own_addresses = own_addresses(); }

// Each rule was checked where it was said.
Result<void> check_gateway_config(const GatewayConfig& config) {
  TRY(UpstreamProxies::make({config.upstream_http_proxy, config.upstream_https_proxy,
                             config.no_proxy, config.http_proxy_port, config.socks_proxy_port}));
  if (!config.rules.deny_reasons.empty()) TRY(Rules::make(config.rules));
  return {};
}

LiveRules live_rules_of(const NetworkPolicy& network) {
  LiveRules live{.rules = network.rules, .aws_signing = network.details.aws_signing};
  if (network.details.mitm) live.mitm_domains = network.details.mitm->domains;
  if (const auto& ending = network.details.end_tls) {
    live.tls_excluded = ending->exclude;
    live.max_tunnels = ending->max_tunnels;
    live.handshake_ms = ending->handshake_ms;
  }
  return live;
}

GatewayFacts facts_for_cell(const GatewaySetup& setup, const std::string& ca_pem,
                            const Policy& policy) {
  GatewayFacts facts;
  facts.variables = setup.variables;
  facts.masked_files = setup.files;
  if (ca_pem.empty()) return facts;
  facts.ca_pem = ca_pem;
  std::string authorities = host_bundle(&facts.covered_bundles);
  facts.ca_bundle_pem = compose_ca_bundle(authorities + "\n" + setup.extra_authorities, ca_pem);
  std::string bundle = "/etc/caisson/ca-bundle.pem", own = "/etc/caisson/cell-ca.pem";
  // The host's own tree has no such folder; its bundle is covered, and has all of them in it.
  if (policy.file_rules.host_view)
    bundle = own =
        facts.covered_bundles.empty() ? std::string(kBundleInDev) : facts.covered_bundles.front();
  for (const CaVariable& variable : kCaVariables)
    facts.variables.emplace_back(variable.name, variable.file == CaFile::kBundle ? bundle : own);
  return facts;
}

void wipe_secrets(GatewayConfig& config, Job& job) {
  for (Secret& secret : config.secrets) ::explicit_bzero(secret.value.data(), secret.value.size());
  ::explicit_bzero(config.ca_key.data(), config.ca_key.size());
  for (const SecretSpec& spec : job.policy.network.secrets)
    if (spec.source == SecretSource::kEnvironment) wipe_variable(spec.from, job);
  for (const MaskSpec& spec : job.policy.network.details.masks)
    if (spec.source == SecretSource::kEnvironment) wipe_variable(spec.from, job);
}

}  // namespace caisson

#include "cli/gateway_setup.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "base/scope_exit.h"
#include "gateway/ca_bundle.h"
#include "gateway/placeholder.h"
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

}  // namespace

Result<GatewaySetup> set_up_gateway(const Job& job) {
  const NetworkPolicy& network = job.policy.network;
  GatewaySetup setup;
  GatewayConfig& config = setup.config;
  config.rules = network.rules;
  config.forward = network.forward;
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
  config.own_addresses = own_addresses();
  config.upstream_http_proxy = either_case(job, "HTTP_PROXY", "http_proxy");
  config.upstream_https_proxy = either_case(job, "HTTPS_PROXY", "https_proxy");
  config.no_proxy = either_case(job, "NO_PROXY", "no_proxy");
  config.secrets = TRY(read_secrets(job));
  if (network.ends_tls()) config.ca_bundle = host_bundle();
  return setup;
}

GatewayFacts facts_for_cell(const GatewayConfig& config, const std::string& ca_pem) {
  GatewayFacts facts;
  for (const Secret& secret : config.secrets)
    facts.variables.emplace_back(secret.name, secret.placeholder);
  if (ca_pem.empty()) return facts;
  facts.ca_pem = ca_pem;
  facts.ca_bundle_pem = compose_ca_bundle(host_bundle(&facts.covered_bundles), ca_pem);
  for (const CaVariable& variable : kCaVariables)
    facts.variables.emplace_back(std::string(variable.name), variable.file == CaFile::kBundle
                                                                 ? "/etc/caisson/ca-bundle.pem"
                                                                 : "/etc/caisson/cell-ca.pem");
  return facts;
}

void wipe_secrets(GatewayConfig& config, Job& job) {
  for (Secret& secret : config.secrets) ::explicit_bzero(secret.value.data(), secret.value.size());
  for (const SecretSpec& spec : job.policy.network.secrets) {
    if (spec.source != SecretSource::kEnvironment) continue;
    auto found = job.caller.environment.find(spec.from);
    if (found != job.caller.environment.end())
      ::explicit_bzero(found->second.data(), found->second.size());
    if (char* value = ::getenv(spec.from.c_str())) ::explicit_bzero(value, ::strlen(value));
  }
}

}  // namespace caisson

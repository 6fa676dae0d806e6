#include "gateway/core.h"

#include <openssl/crypto.h>

#include "base/control.h"

namespace caisson {

Core::Core(GatewayConfig all)
    : config(std::move(all)),
      handed(control),
      traffic(config.upload_budget, config.download_budget),
      denials([this](const std::string& json) { control.send(ControlType::kDenial, json); }),
      heard(config.heard_fd),
      resolver(loop, deadlines, std::move(config.resolv_conf), std::move(config.hosts_file)) {}

Core::~Core() = default;

Result<std::unique_ptr<Core>> Core::make(GatewayConfig config) {
  std::unique_ptr<Core> core(new Core(std::move(config)));
  GatewayConfig& said = core->config;
  using InClear = Secrets::InClear;
  core->secrets = TRY(Secrets::make(std::move(said.secrets),
                                    said.secrets_in_clear ? InClear::kAlso : InClear::kNever));
  core->proxies =
      TRY(UpstreamProxies::make({said.upstream_http_proxy, said.upstream_https_proxy, said.no_proxy,
                                 said.http_proxy_port, said.socks_proxy_port}));
  said.live.rules = std::move(said.rules);
  TRY(core->take(LiveRules(said.live)));
  // The cell must trust it before its program runs: a leaf of a later one would be a stranger's.
  if (said.needs_authority || said.ends_all_tls || !said.live.rules.requests.empty() ||
      !core->secrets->empty()) {
    bool given = !said.ca_certificate.empty();
    core->ca = TRY(given ? CellCa::from_pem(said.ca_certificate, said.ca_key) : CellCa::make());
    OPENSSL_cleanse(said.ca_key.data(), said.ca_key.size());
  }
  return core;
}

Result<void> Core::take(const LiveRules& live) {
  Rules new_rules = TRY(Rules::make(live.rules));
  HostSet excluded = TRY(HostSet::make(live.tls_excluded));
  HostSet through_mitm = TRY(HostSet::make(live.mitm_domains));
  rules = std::move(new_rules);
  tls_excluded = std::move(excluded);
  proxies.set_mitm_hosts(std::move(through_mitm));
  config.live = live;
  return {};
}

bool Core::must_look_inside(const Host& host, uint16_t port) const {
  if (rules.has_request_rules(host, port)) return true;
  return secrets->must_read(host, port) && !tls_excluded.covers(host, port);
}

bool Core::ends_tls(const Host& host, uint16_t port) const {
  bool all = config.ends_all_tls && control_enabled("gateway-end-tls");
  return must_look_inside(host, port) || (all && !tls_excluded.covers(host, port));
}

void Core::deny(const Verdict& verdict, const HostPort& where, std::string_view protocol) {
  deny(verdict, where.host.text(), where.port, protocol);
}

void Core::deny(const Verdict& verdict, std::string host, uint16_t port,
                std::string_view protocol) {
  if (denials.tell({verdict, std::move(host), port, protocol})) heard.await_one();
}

}  // namespace caisson

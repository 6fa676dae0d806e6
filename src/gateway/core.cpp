#include "gateway/core.h"

namespace caisson {

Core::Core(GatewayConfig all)
    : config(std::move(all)),
      traffic(config.upload_budget, config.download_budget),
      denials([this](const std::string& json) { control.send(ControlType::kDenial, json); }),
      resolver(loop, deadlines, std::move(config.resolv_conf), std::move(config.hosts_file)) {}

Core::~Core() = default;

Result<std::unique_ptr<Core>> Core::make(GatewayConfig config) {
  std::unique_ptr<Core> core(new Core(std::move(config)));
  core->rules = TRY(Rules::make(core->config.rules));
  core->secrets = TRY(Secrets::make(std::move(core->config.secrets)));
  core->proxies = TRY(UpstreamProxies::make(
      core->config.upstream_http_proxy, core->config.upstream_https_proxy, core->config.no_proxy));
  // The cell must trust it before its program runs: a leaf of a later one would be a stranger's.
  if (!core->config.rules.requests.empty() || !core->secrets->empty())
    core->ca = TRY(CellCa::make());
  return core;
}

bool Core::must_look_inside(const Host& host, uint16_t port) const {
  return rules.has_request_rules(host, port) || secrets->any_for(host, port);
}

void Core::deny(const Verdict& verdict, const HostPort& where, std::string_view protocol) {
  deny(verdict, where.host.text(), where.port, protocol);
}

void Core::deny(const Verdict& verdict, std::string host, uint16_t port,
                std::string_view protocol) {
  denials.tell({verdict, std::move(host), port, protocol});
}

}  // namespace caisson

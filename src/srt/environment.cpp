// The environment: the caller's own, as with srt, without the credentials that are denied or
// masked, and with proxies that need no secret.
#include <algorithm>
#include <array>

#include "rules/host_pattern.h"
#include "srt/git.h"
#include "srt/mapping.h"

namespace caisson::srt {

namespace {

constexpr std::string_view kHttpProxy = "http://127.0.0.1:3128";
constexpr std::array<std::string_view, 10> kHttpProxyNames{
    "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy",       "ALL_PROXY",
    "all_proxy",  "GRPC_PROXY",  "grpc_proxy", "DOCKER_HTTP_PROXY", "DOCKER_HTTPS_PROXY"};
constexpr std::pair<std::string_view, std::string_view> kOtherProxies[] = {
    {"FTP_PROXY", "socks5h://127.0.0.1:3128"}, {"ftp_proxy", "socks5h://127.0.0.1:3128"},
    {"RSYNC_PROXY", "127.0.0.1:3128"},         {"CLOUDSDK_PROXY_TYPE", "http"},
    {"CLOUDSDK_PROXY_ADDRESS", "127.0.0.1"},   {"CLOUDSDK_PROXY_PORT", "3128"}};
// Of the host's proxies, and of no use inside; the last two may hold a password.
constexpr std::string_view kHostsProxies[] = {"NO_PROXY", "no_proxy", "CLOUDSDK_PROXY_USERNAME",
                                              "CLOUDSDK_PROXY_PASSWORD"};

bool names_a_proxy(std::string_view name) {
  return std::ranges::find(kHttpProxyNames, name) != kHttpProxyNames.end() ||
         std::ranges::any_of(kOtherProxies, [&](auto& one) { return one.first == name; }) ||
         std::ranges::find(kHostsProxies, name) != std::end(kHostsProxies);
}

// Then the name must go through the gateway, and not to the program's own loopback.
bool allows_whole_loopback(const Network& said) {
  return std::ranges::any_of(said.allowed, [](const std::string& text) {
    return text == "localhost" || text == "127.0.0.1" || text == "[::1]";
  });
}

// tmux and zsh ask for no TMPDIR, and /tmp is the host's.
void lead_to_temporary_folder(const Scene& scene, std::vector<EnvironmentRequest>& to) {
  if (to.empty() || to.back().name != "TMPDIR") return;
  const Caller& caller = scene.caller;
  std::string folder = to.back().value;
  // The record of this cell is out of reach in it: an inner srt keeps one of its own.
  if (scene.said.allow_nested) to.push_back({"XDG_STATE_HOME", folder + "/state", "srt"});
  if (caller.env("TMUX_TMPDIR").empty()) to.push_back({"TMUX_TMPDIR", folder, "srt"});
  if (caller.env("TMPPREFIX").empty()) to.push_back({"TMPPREFIX", folder + "/zsh", "srt"});
}

}  // namespace

void map_environment(const Scene& scene, Mapped& mapped) {
  std::vector<EnvironmentRequest>& to = mapped.settings.env_set;
  std::vector<EnvironmentRequest> own = std::move(to);  // they win over the caller's
  to.clear();
  bool gateway = !scene.said.network.disabled;
  auto is_secret = [&](const std::string& name) {
    return std::ranges::any_of(scene.said.credentials, [&](const Credential& one) {
      return one.spec.source == SecretSource::kEnvironment && one.spec.from == name;
    });
  };
  for (const auto& [name, value] : scene.caller.environment)
    if (!is_secret(name) && !(gateway && names_a_proxy(name)))
      to.push_back({name, value, "the caller's environment"});
  auto set = [&](std::string_view name, std::string_view value) {
    to.push_back({std::string(name), std::string(value), "srt"});
  };
  set("SANDBOX_RUNTIME", "1");
  set("CAISSON", "1");
  if (gateway) {
    for (std::string_view name : kHttpProxyNames) set(name, kHttpProxy);
    for (const auto& [name, value] : kOtherProxies) set(name, value);
    if (allows_whole_loopback(scene.said.network))
      for (const char* name : {"NO_PROXY", "no_proxy"}) set(name, "");
  }
  if (scene.said.safe_directories)
    for (const auto& [name, value] :
         safe_directory_variables(*scene.said.safe_directories, scene.caller))
      set(name, value);
  to.insert(to.end(), own.begin(), own.end());
  lead_to_temporary_folder(scene, to);
}

}  // namespace caisson::srt

#include "policy/cell_environment.h"

#include <fmt/format.h>

#include <map>

#include "base/control.h"
#include "base/text.h"
#include "policy/units.h"

namespace caisson {

namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";
// execve(2) takes no string of 128 KiB or more.
constexpr size_t kMaxString = 128 * 1024 - 1;
constexpr size_t kMaxTotal = 1 << 20;

struct Value {
  std::string text;
  Origin origin;
};
using Variables = std::map<std::string, Value>;

bool tells_the_locale(const std::string& name) {
  return name == "LANG" || name == "LANGUAGE" || name == "TZ" || name.starts_with("LC_");
}

void pass_from_caller(const Scene& scene, Variables& out) {
  bool tty = scene.settings.tty.value.value_or(false);
  for (const auto& [name, text] : scene.caller.environment) {
    bool wanted = tells_the_locale(name) || name == "TERM" ||
                  (tty && (name == "COLORTERM" || name == "NO_COLOR")) ||
                  !control_enabled("environment");
    if (wanted && text.size() < kMaxString) out[name] = {text, "the caller's environment"};
  }
  if (tty && !out.contains("TERM")) out["TERM"] = {"dumb", "default"};
}

void set_basics(const Scene& scene, Variables& out) {
  std::string path = scene.caller.env("PATH");
  if (path.empty())
    out["PATH"] = {std::string(kDefaultPath), "default"};
  else
    out["PATH"] = {path, "the caller's environment"};
  for (const char* name : {"HOME", "TMPDIR"}) out[name] = {std::string(kPrivateFolder), "default"};
  for (const char* name : {"USER", "LOGNAME"}) out[name] = {scene.caller.user_name, "the caller"};
  out["SHELL"] = {"/bin/sh", "default"};
  for (const char* name : {"SANDBOX_RUNTIME", "CAISSON"}) out[name] = {"1", "default"};
}

// For programs that ask for a proxy; those that don't are led to the gateway all the same. Not
// ALL_PROXY: libraries without SOCKS refuse to work when they see it.
void name_the_proxies(const Policy& policy, Variables& out) {
  if (!policy.network.needs_gateway()) return;
  for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"})
    out[name] = {"http://127.0.0.1:3128", "the gateway"};
  for (const char* name : {"no_proxy", "NO_PROXY"})
    out[name] = {"localhost,127.0.0.1,::1", "the gateway"};
}

Result<void> add_requested(const Scene& scene, Variables& out) {
  for (const auto& [name, origin] : scene.settings.env_pass) {
    auto found = scene.caller.environment.find(name);
    if (found == scene.caller.environment.end())
      return Error::plain(fmt::format("{}: {} is not set here", origin, printable(name)),
                          fmt::format("set it, or give a value: --env {}=VALUE", printable(name)));
    out[name] = {found->second, origin};
  }
  for (const EnvironmentRequest& request : scene.settings.env_set)
    out[request.name] = {request.value, request.origin};
  return {};
}

Result<void> check_size(const Variables& variables) {
  size_t total = 0;
  for (const auto& [name, value] : variables) {
    size_t size = name.size() + value.text.size() + 2;
    total += size;
    if (size > kMaxString)
      return Error::plain(fmt::format("{}: the value of {} is too long for execve(2)", value.origin,
                                      printable(name)));
  }
  if (total > kMaxTotal)
    return Error::plain("the cell's environment is larger than 1 MiB",
                        "write what is large to a file and mount it");
  return {};
}

}  // namespace

Result<void> build_environment(const Scene& scene, const Toolchain& toolchain, Policy& policy) {
  Variables variables;
  pass_from_caller(scene, variables);
  set_basics(scene, variables);
  name_the_proxies(policy, variables);
  for (const auto& [name, text] : toolchain.variables) variables[name] = {text, "toolchain"};
  TRY(add_requested(scene, variables));
  TRY(check_size(variables));
  for (auto& [name, value] : variables) {
    policy.origins.emplace_back("environment." + name, value.origin);
    policy.environment.emplace_back(name, std::move(value.text));
  }
  return {};
}

}  // namespace caisson

#include "policy/resolve.h"

#include <algorithm>
#include <set>

#include "policy/cell_environment.h"
#include "policy/files.h"
#include "policy/mounts.h"
#include "policy/network.h"
#include "policy/record.h"
#include "policy/schema.h"
#include "policy/toolchains.h"

namespace caisson {

namespace {

// What was said, or else what the table says.
template <typename T>
const T& pick(const Setting<T>& said, const Setting<T>& fallback, const char* field,
              Policy& policy) {
  const Setting<T>& setting = said ? said : fallback;
  policy.origins.emplace_back(field, setting.origin);
  return *setting.value;
}

void resolve_limits(const Settings& said, Policy& policy) {
  const Settings table = default_settings();
  Limits& limits = policy.limits;
  policy.tier = pick(said.tier, table.tier, "tier", policy);
  limits.wall = pick(said.timeout, table.timeout, "limits.timeout", policy);
  limits.memory_bytes = pick(said.memory, table.memory, "limits.memory", policy);
  limits.cpu_millis = pick(said.cpu_millis, table.cpu_millis, "limits.cpu", policy);
  limits.pids = pick(said.pids, table.pids, "limits.pids", policy);
  limits.files = pick(said.files, table.files, "limits.files", policy);
  limits.file_bytes = pick(said.file_size, table.file_size, "limits.file_size", policy);
  limits.tmp_bytes = pick(said.tmp_size, table.tmp_size, "limits.tmp_size", policy);
  limits.output_bytes = pick(said.output_limit, table.output_limit, "limits.output", policy);
  policy.network.connections =
      pick(said.connections, table.connections, "network.connections", policy);
  limits.cpu_shares = said.cpu_shares.value;
  policy.origins.emplace_back("limits.cpu_shares",
                              said.cpu_shares ? said.cpu_shares.origin : "default");
  std::set<std::string> fields;
  for (const auto& [field, origin] : said.best_effort)
    if (fields.insert(field).second) policy.origins.emplace_back("best_effort." + field, origin);
  policy.best_effort.assign(fields.begin(), fields.end());
}

void resolve_grant(const Setting<std::string>& said, GrantKind kind, Policy& policy) {
  policy.origins.emplace_back(std::string("grants.") + grant_name(kind),
                              said ? said.origin : "default");
  if (said && !said.value->empty()) policy.grants.push_back({kind, *said.value});
}

bool resolve_switch(const Setting<bool>& said, const char* field, Policy& policy) {
  policy.origins.emplace_back(field, said ? said.origin : "default");
  return said.value.value_or(false);
}

void resolve_process(const Settings& said, Policy& policy) {
  resolve_grant(said.allow_network, GrantKind::kHostNetwork, policy);
  resolve_grant(said.allow_nested, GrantKind::kNestedNamespaces, policy);
  if (resolve_switch(said.no_exec, "process.no_exec", policy)) policy.exec = Exec::kProgramOnly;
  if (resolve_switch(said.tty, "process.tty", policy)) policy.terminal = Terminal::kOwnPty;
  resolve_switch(said.read_only, "filesystem.read_only", policy);
  policy.hostname = "caisson";
  policy.origins.emplace_back("hostname", "default");
}

}  // namespace

Result<Policy> resolve(const Settings& settings, const Caller& caller, const Command& command,
                       const HostFiles& files) {
  const Scene scene{settings, caller, files, find_homes(caller, files)};
  Policy policy;
  resolve_limits(settings, policy);
  resolve_process(settings, policy);
  TRY(resolve_network(settings, policy));
  if (settings.file_rules.host_view) {  // the host's own tree: there is nothing to be added to it
    TRY(resolve_files(scene, policy));
    TRY(build_environment(scene, {}, policy));
    return policy;
  }
  std::vector<Way> ways = TRY(add_requested_mounts(scene, policy));
  TRY(add_sockets(scene, policy));
  // After what was asked for: what a person mounts stands, and these two only fill in.
  add_current_folder(scene, policy);
  Toolchain toolchain;
  if (!command.argv.empty()) toolchain = find_toolchain(command.argv[0], scene, policy.mounts);
  policy.mounts.insert(policy.mounts.end(), toolchain.mounts.begin(), toolchain.mounts.end());
  policy.links = toolchain.links;
  policy.notes.insert(policy.notes.end(), toolchain.notes.begin(), toolchain.notes.end());
  TRY(order_mounts(scene, policy));
  TRY(check_ways(scene, policy, ways));
  TRY(cover_record(scene, policy));
  TRY(choose_workdir(scene, policy));
  TRY(build_environment(scene, toolchain, policy));
  if (!settings.file_rules.deny_write.empty()) TRY(resolve_file_patterns(scene, policy));
  return policy;
}

}  // namespace caisson

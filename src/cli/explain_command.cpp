// caisson explain: the policy, the host facts and the plan, before anything runs.
#include <unistd.h>

#include <fmt/format.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/explanation.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/result_json.h"
#include "policy/resolve.h"
#include "run/audit_encode.h"

namespace caisson {

namespace {

namespace json = boost::json;

const char* cgroup_version_name(CgroupFacts::Version version) {
  switch (version) {
    case CgroupFacts::Version::kV1:
      return "v1";
    case CgroupFacts::Version::kV2:
      return "v2";
    case CgroupFacts::Version::kNone:
      break;
  }
  return "none";
}

json::object facts_json(const HostFacts& facts) {
  json::array slots, system, etc;
  for (const CgroupSlot& slot : facts.cgroup.slots)
    slots.push_back(json::object{{"controller", slot.controller}, {"directory", slot.directory}});
  for (const SystemEntry& entry : facts.system) system.push_back(json::string(entry.path));
  for (const std::string& name : facts.etc) etc.push_back(json::string("/etc/" + name));
  return {{"uid", facts.uid},
          {"gid", facts.gid},
          {"kernel", facts.kernel_release},
          {"landlock_abi", facts.landlock_abi},
          {"cpus", facts.cpus},
          {"cgroup", json::object{{"version", cgroup_version_name(facts.cgroup.version)},
                                  {"slots", std::move(slots)},
                                  {"why_not", facts.cgroup.why_not}}},
          {"system", std::move(system)},
          {"etc", std::move(etc)}};
}

}  // namespace

std::string explanation_json(const Job& job, const Plan& plan) {
  json::object policy = json::parse(to_canonical_json(job.policy)).as_object();
  json::object origins;
  for (const auto& [field, origin] : job.policy.origins) origins[field] = origin;
  json::array steps, notes;
  for (const std::string& line : describe(plan)) steps.push_back(json::string(line));
  for (const std::string& note : job.policy.notes) notes.push_back(json::string(note));
  json::object out{{"policy", std::move(policy)},
                   {"policy_digest", digest(job.policy)},
                   {"origins", std::move(origins)},
                   {"notes", std::move(notes)},
                   {"host", facts_json(job.facts)},
                   {"plan", std::move(steps)},
                   {"limits", limits_json(plan.limits, plan.enforcement)},
                   {"degradations", degradations_json(plan.degradations)}};
  return encode_event(out, SIZE_MAX) + "\n";
}

namespace {

void add_mounts(std::string& text, const Policy& policy) {
  text += "\nwhat it sees of the host beyond the system folders\n";
  for (const Mount& mount : policy.mounts)
    text += fmt::format("  {} {} at {}  ({})\n", mount.access == Access::kReadWrite ? "rw" : "ro",
                        mount.source, mount.target, mount.origin);
  if (policy.mounts.empty()) text += "  nothing\n";
  for (const Cover& cover : policy.covers)
    text += fmt::format("  -- an empty folder at {}  ({})\n", cover.path, cover.origin);
}

void add_network(std::string& text, const Policy& policy) {
  const NetworkPolicy& network = policy.network;
  text += "\nwhat it reaches\n";
  if (policy.has(GrantKind::kHostNetwork)) text += "  the host's network, all of it\n";
  auto add = [&](const char* what, const std::string& value) {
    text += fmt::format("  {:<8} {}\n", what, value);
  };
  for (const std::string& rule : network.rules.allow) add("host", rule);
  for (const std::string& rule : network.rules.requests) add("request", rule);
  for (const std::string& rule : network.rules.deny) add("never", rule);
  for (const std::string& range : network.rules.denied_addresses) add("never", range);
  for (const SecretSpec& secret : network.secrets)
    add("secret", fmt::format("{} for {}", secret.name, join(secret.hosts, ", ")));
  for (uint16_t port : network.forward) add("forward", fmt::format("the host's port {}", port));
  for (uint16_t port : network.loopback)
    add("forward", fmt::format("the host's port {}, as the rules allow it", port));
  for (const PublishedPort& port : network.publish)
    add("publish", fmt::format("port {} as the host's {}", port.cell_port, port.host_port));
  if (!network.needs_gateway() && !policy.has(GrantKind::kHostNetwork)) text += "  nothing\n";
}

std::string count_or_all(uint32_t millis) {
  return millis ? fmt::format("{}", millis / 1000.0) : "all cores";
}

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

// What a field of the policy holds, as a person would say it. Values of the environment may be
// secrets and stay out.
std::string field_value(const Policy& policy, const std::string& field) {
  const Limits& limits = policy.limits;
  if (field == "tier") return tier_name(policy.tier);
  if (field == "hostname") return policy.hostname;
  if (field == "limits.timeout")
    return limits.wall ? fmt::format("{} ms", limits.wall->count()) : "none";
  if (field == "limits.memory") return std::to_string(limits.memory_bytes);
  if (field == "limits.cpu") return count_or_all(limits.cpu_millis);
  if (field == "limits.cpu_shares")
    return limits.cpu_shares ? std::to_string(*limits.cpu_shares) : "none";
  if (field == "limits.pids") return std::to_string(limits.pids);
  if (field == "limits.files") return std::to_string(limits.files);
  if (field == "limits.file_size") return std::to_string(limits.file_bytes);
  if (field == "limits.tmp_size") return std::to_string(limits.tmp_bytes);
  if (field == "limits.output") return std::to_string(limits.output_bytes);
  if (field == "network.connections") return std::to_string(policy.network.connections);
  if (field == "network.upload") return std::to_string(policy.network.upload_bytes);
  if (field == "network.download") return std::to_string(policy.network.download_bytes);
  if (field == "grants.network") return yes_or_no(policy.has(GrantKind::kHostNetwork));
  if (field == "grants.nested") return yes_or_no(policy.has(GrantKind::kNestedNamespaces));
  if (field == "process.no_exec") return yes_or_no(policy.exec == Exec::kProgramOnly);
  if (field == "process.tty") return yes_or_no(policy.terminal == Terminal::kOwnPty);
  if (field == "filesystem.workdir") return policy.workdir;
  return "";
}

void add_fields(std::string& text, const Policy& policy) {
  text += fmt::format("policy {}\n", digest(policy));
  for (const auto& [field, origin] : policy.origins)
    text += fmt::format("  {:<24} {:<16} from {}\n", field, field_value(policy, field), origin);
}

std::string as_text(const Job& job, const Plan& plan) {
  std::string text;
  add_fields(text, job.policy);
  add_mounts(text, job.policy);
  add_network(text, job.policy);
  text += "\nheld by\n";
  for (const Enforcement& one : plan.enforcement)
    text += fmt::format("  {:<24} {}\n", one.limit, one.mechanism);
  text += "\nhost\n";
  text += fmt::format("  kernel {}, Landlock ABI {}, cgroup {}, {} cpus, uid {}\n",
                      job.facts.kernel_release, job.facts.landlock_abi,
                      cgroup_version_name(job.facts.cgroup.version), job.facts.cpus, job.facts.uid);
  text += "\nplan\n";
  for (const std::string& line : describe(plan)) text += "  " + line + "\n";
  for (const Degradation& one : plan.degradations)
    text += fmt::format("\nweaker than asked: {}: {} ({})\n", one.field, one.effect, one.reason);
  for (const std::string& note : job.policy.notes) text += "\nnote: " + note + "\n";
  return text;
}

// Names and values come from the caller's words and the host's files: none may steer a terminal.
std::string safe_lines(const std::string& text) {
  std::string out;
  for (std::string_view line : split(text, '\n')) out += printable(line) + "\n";
  out.pop_back();
  return out;
}

}  // namespace

int explain_command(std::span<const std::string> args, const ProcessStart& start) {
  Result<Job> job = make_job(args, start, Look::kOnly);
  if (!job) return report(job.error());
  if (job->flags.help) {
    std::string help = exec_help();  // whose first line says what exec is for
    return print(
        "caisson explain takes the options and the command of `caisson exec`, and --json.\n" +
        help.substr(help.find('\n') + 1));
  }
  Result<Plan> plan = make_plan(job->policy, job->command, job->facts);
  if (!plan) return report(plan.error());
  return print(job->flags.json_output ? explanation_json(*job, *plan)
                                      : safe_lines(as_text(*job, *plan)));
}

}  // namespace caisson

// The table. A setting is said here once; everything that reads or prints settings walks it.
#include "policy/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/loopback_ports.h"
#include "policy/network.h"
#include "policy/units.h"
#include "rules/host_pattern.h"
#include "rules/ip_address.h"
#include "rules/request_rule.h"

namespace caisson {

namespace {

constexpr size_t kMaxText = 128 * 1024 - 1;  // MAX_ARG_STRLEN: execve(2) takes no longer string
constexpr size_t kMaxEntries = 256, kMaxRuleEntries = 100'000;
constexpr size_t kMaxName = 255;

constexpr std::array<std::string_view, 9> kBestEffortFields{
    "cpu", "cpu_shares", "file_size", "files", "memory", "output", "pids", "timeout", "tmp_size"};

template <typename T>
Result<void> append(std::vector<T>& list, T value, size_t most = kMaxEntries) {
  if (list.size() >= most) return Error::plain(fmt::format("more than {} of them", most));
  list.push_back(std::move(value));
  return {};
}

template <auto Field, uint64_t Low>
Result<void> set_size(Settings& settings, std::string_view text, const Origin& origin) {
  uint64_t bytes = TRY(parse_size(text));
  if (bytes < Low)
    return Error::plain(in_quotes(text) + " is too small", fmt::format("{} bytes at least", Low));
  (settings.*Field).set(bytes, origin);
  return {};
}

template <auto Field, uint32_t Low, uint32_t High>
Result<void> set_count(Settings& settings, std::string_view text, const Origin& origin) {
  (settings.*Field).set(TRY(parse_count(text, Low, High)), origin);
  return {};
}

template <auto Field>
Result<void> set_bool(Settings& settings, std::string_view text, const Origin& origin) {
  (settings.*Field).set(TRY(parse_bool(text)), origin);
  return {};
}

template <auto Field>
Result<void> set_reason(Settings& settings, std::string_view text, const Origin& origin) {
  (settings.*Field).set(std::string(text), origin);
  return {};
}

template <auto Field>
Result<void> set_path(Settings& settings, std::string_view text, const Origin& origin) {
  if (text.empty()) return Error::plain("the path is empty");
  if (text.size() > kMaxPath) return Error::plain(in_quotes(text) + " is too long a path");
  (settings.*Field).set(std::string(text), origin);
  return {};
}

Result<void> set_timeout(Settings& settings, std::string_view text, const Origin& origin) {
  settings.timeout.set(TRY(parse_duration(text)), origin);
  return {};
}

Result<void> set_cpu(Settings& settings, std::string_view text, const Origin& origin) {
  settings.cpu_millis.set(TRY(parse_cpu(text)), origin);
  return {};
}

Result<void> set_tier(Settings& settings, std::string_view text, const Origin& origin) {
  constexpr std::array kTiers{Tier::kProcess, Tier::kLandlock, Tier::kContainer, Tier::kMicrovm};
  for (Tier tier : kTiers) {
    if (text != tier_name(tier)) continue;
    settings.tier.set(tier, origin);
    return {};
  }
  return Error::plain(in_quotes(text) + " is not a tier",
                      "process (the default), landlock, container or microvm");
}

Result<void> add_mount_member(Settings& settings, std::string_view text, const Origin& origin) {
  return append(settings.mounts, TRY(parse_mount(text, origin)));
}

Result<void> add_allow_write(Settings& settings, std::string_view text, const Origin& origin) {
  if (text.empty()) return Error::plain("the path is empty");
  if (text.size() > kMaxPath) return Error::plain(in_quotes(text) + " is too long a path");
  return append(settings.allow_write, std::pair(std::string(text), origin));
}

// Patterns of the host view. What an entry of "protect" covers is left alone in folders that the
// cell itself made.
template <auto List, bool OnlyOlder = false>
Result<void> add_file_pattern(Settings& settings, std::string_view text, const Origin& origin) {
  if (!text.starts_with('/')) return Error::plain(in_quotes(text) + " does not start with /");
  return append((settings.file_rules.*List),
                {.text = std::string(text), .only_in_older_folder = OnlyOlder, .origin = origin});
}

Result<void> set_host_view(Settings& settings, std::string_view text, const Origin&) {
  settings.file_rules.host_view = TRY(parse_bool(text));
  return {};
}

Result<void> add_private_folder(Settings& settings, std::string_view text, const Origin&) {
  if (!text.starts_with('/')) return Error::plain(in_quotes(text) + " does not start with /");
  return append(settings.file_rules.make_folders, std::string(text));
}

Result<void> check_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName || name.find('=') != std::string_view::npos)
    return Error::plain(in_quotes(name) + " is not the name of a variable");
  return {};
}

Result<void> add_env(Settings& settings, std::string_view text, const Origin& origin) {
  size_t equals = text.find('=');
  // The value is not shown: it may be a secret.
  if (equals == std::string_view::npos)
    return Error::plain(in_quotes(text) + " has no value",
                        "write NAME=VALUE, or pass the caller's with --env-pass NAME");
  TRY(check_name(text.substr(0, equals)));
  return append(settings.env_set, {.name = std::string(text.substr(0, equals)),
                                   .value = std::string(text.substr(equals + 1)),
                                   .origin = origin});
}

Result<void> add_env_pass(Settings& settings, std::string_view text, const Origin& origin) {
  if (text.find('=') != std::string_view::npos)
    return Error::plain(
        in_quotes(text.substr(0, text.find('='))) + " is passed with a value",
        "to pass the caller's value: --env-pass NAME; to set one: --env NAME=VALUE");
  TRY(check_name(text));
  return append(settings.env_pass, std::pair(std::string(text), origin));
}

Result<void> add_best_effort(Settings& settings, std::string_view text, const Origin& origin) {
  if (std::ranges::find(kBestEffortFields, text) == kBestEffortFields.end())
    return Error::plain(in_quotes(text) + " is not a field that can be best-effort",
                        fmt::format("one of {}", fmt::join(kBestEffortFields, ", ")));
  return append(settings.best_effort, std::pair(std::string(text), origin));
}

// Checked here, so that an error names the place where the rule stands.
template <auto Field, PatternUse Use>
Result<void> add_domain(Settings& settings, std::string_view text, const Origin& origin) {
  TRY(parse_host_pattern(text, Use));
  if constexpr (Use == PatternUse::kAllow) TRY(check_loopback_rule(text));
  return append(settings.*Field, std::pair(std::string(text), origin), kMaxRuleEntries);
}

Result<void> add_request(Settings& settings, std::string_view text, const Origin& origin) {
  TRY(parse_request_rule(text));
  return append(settings.requests, std::pair(std::string(text), origin), kMaxRuleEntries);
}

Result<void> add_deny_address(Settings& settings, std::string_view text, const Origin& origin) {
  RuleTexts only;
  only.denied_addresses.emplace_back(text);
  TRY(Rules::make(only));
  return append(settings.deny_addresses, std::pair(std::string(text), origin), kMaxRuleEntries);
}

Result<void> add_dns_type(Settings& settings, std::string_view text, const Origin& origin) {
  if (text != "SRV" && text != "TXT")
    return Error::plain(in_quotes(text) + " is not a type that can be passed on", "SRV or TXT");
  return append(settings.dns_types, std::pair(std::string(text), origin));
}

Result<void> add_secret(Settings& settings, std::string_view text, const Origin& origin) {
  return append(settings.secrets, std::pair(TRY(parse_secret(text)), origin));
}

Result<void> add_forward(Settings& settings, std::string_view text, const Origin& origin) {
  auto port = static_cast<uint16_t>(TRY(parse_count(text, 1, 65535)));
  return append(settings.forward, std::pair(port, origin));
}

Result<void> add_publish(Settings& settings, std::string_view text, const Origin& origin) {
  return append(settings.publish, std::pair(TRY(parse_published_port(text)), origin));
}

Result<void> add_socket(Settings& settings, std::string_view text, const Origin& origin) {
  if (text.empty()) return Error::plain("the path is empty");
  if (text.size() > kMaxPath) return Error::plain(in_quotes(text) + " is too long a path");
  return append(settings.sockets, std::pair(std::string(text), origin));
}

Result<void> take_network_back(Settings& settings, std::string_view text, const Origin& origin) {
  if (!TRY(parse_bool(text)))
    return Error::plain("\"false\" would be a grant without a name", "--allow-network gives it");
  settings.allow_network.set("", origin);
  return {};
}

Result<void> set_allow_exec(Settings& settings, std::string_view text, const Origin& origin) {
  settings.no_exec.set(!TRY(parse_bool(text)), origin);
  return {};
}

Result<void> set_allow_fs_write(Settings& settings, std::string_view text, const Origin& origin) {
  bool allowed = TRY(parse_bool(text));
  settings.read_only.set(!allowed, origin);
  settings.write_current_folder.set(allowed, origin);
  return {};
}

using S = Settings;
using A = Arity;

// A tmpfs with size=0 has no limit at all (tmpfs(5)), so that tmp_size needs a floor.
constexpr uint64_t kLowMemory = 1 << 20, kLowTmp = 64 << 10;

constexpr SettingSpec kSpecs[] = {
    // limits
    {"--timeout", "limits.timeout", "SANDBOX_TIMEOUT", A::kQuantity, "TIME", "limits",
     "wall-clock time: 30 (seconds), 250ms, 10s, 1.5m, 2h, none", set_timeout, "10m",
     "long enough for a build, short enough that a hung program is noticed"},
    {"--memory", "limits.memory", "SANDBOX_MEMORY_LIMIT", A::kQuantity, "SIZE", "limits",
     "memory of the whole cell: 256M, 1.5G", set_size<&S::memory, kLowMemory>, "2G",
     "a compiler or a data frame fits, the host's memory stays"},
    {"--cpu", "limits.cpu", "SANDBOX_CPU_LIMIT", A::kQuantity, "CORES", "limits",
     "cores as a number: 0.5, 2; 0 is all cores", set_cpu, "0",
     "time is bounded already, and the host's scheduler is fair"},
    {"--cpu-shares", "limits.cpu_shares", "SANDBOX_CPU_SHARES", A::kQuantity, "N", "limits",
     "weight against other work when cores are short; 1024 is even",
     set_count<&S::cpu_shares, 2, 262144>},
    {"--pids", "limits.pids", "", A::kQuantity, "N", "limits", "processes and threads at once",
     set_count<&S::pids, 1, 4194304>, "256", "a parallel build fits, a fork bomb ends at once"},
    {"--files", "limits.files", "", A::kQuantity, "N", "limits", "open files of one process",
     set_count<&S::files, 16, 1048576>, "1024",
     "what select(2) can hold, and most hosts' own default"},
    {"--fsize", "limits.file_size", "", A::kQuantity, "SIZE", "limits",
     "the largest file that can be written", set_size<&S::file_size, 0>, "1G",
     "no single file fills a disk through a writable mount"},
    {"--tmp-size", "limits.tmp_size", "", A::kQuantity, "SIZE", "limits",
     "private space: /tmp, which is the home folder too, and /dev/shm",
     set_size<&S::tmp_size, kLowTmp>, "256M", "it is memory: an eighth of the memory limit"},
    {"--output-limit", "limits.output", "", A::kQuantity, "SIZE", "limits",
     "standard output and standard error together", set_size<&S::output_limit, 0>, "16M",
     "more than a person reads; a flood can't fill the caller's memory"},
    {"--best-effort", "best_effort", "", A::kList, "FIELD", "limits",
     "a limit that may be weaker than asked on a host that can't enforce it", add_best_effort},
    // files
    {"--mount", "filesystem.mounts", "", A::kList, "SRC:DST[:ro|rw]", "files",
     "a host file or folder, read-only unless :rw", add_mount_member},
    {"--workspace", "filesystem.workspace", "SANDBOX_WORK_DIR", A::kValue, "DIR", "files",
     "a folder, writable at /workspace, and the working directory", set_path<&S::workspace>},
    {"--workdir", "filesystem.workdir", "", A::kValue, "DIR", "files",
     "the working directory inside the cell", set_path<&S::workdir>},
    {"--read-only", "filesystem.read_only", "", A::kSwitch, "", "files",
     "no mount is writable, whatever it asks", set_bool<&S::read_only>},
    {"--allow-write", "filesystem.allow_write", "", A::kList, "DIR", "files",
     "a folder, writable at its own path", add_allow_write},
    {"", "", "SANDBOX_ALLOW_FS_WRITE", A::kSwitch, "", "files",
     "true: the current folder is writable; false: as --read-only", set_allow_fs_write},
    {"", "host_view.on", "", A::kSwitch, "", "files",
     "the host's own tree, read-only, instead of a minimal one", set_host_view},
    {"", "host_view.allow_write", "", A::kList, "PATH", "files", "writable at its own path",
     add_file_pattern<&FileRules::allow_write>},
    {"", "host_view.deny_write", "", A::kList, "PATTERN", "files",
     "not to be made, changed, renamed or linked, whatever is writable",
     add_file_pattern<&FileRules::deny_write>},
    {"", "host_view.protect", "", A::kList, "PATTERN", "files",
     "the same, but only in folders that are older than the cell",
     add_file_pattern<&FileRules::deny_write, true>},
    {"", "host_view.deny_read", "", A::kList, "PATTERN", "files", "not to be read",
     add_file_pattern<&FileRules::deny_read>},
    {"", "host_view.allow_read", "", A::kList, "PATTERN", "files",
     "readable inside what is not to be read", add_file_pattern<&FileRules::allow_read>},
    {"", "host_view.private", "", A::kList, "DIR", "files", "an empty folder of the cell's own",
     add_private_folder},
    // environment
    {"--env", "environment.set", "", A::kPairs, "NAME=VALUE", "environment",
     "a variable of the cell", add_env},
    {"--env-pass", "environment.pass", "", A::kList, "NAME", "environment",
     "a variable of the caller that the cell gets too", add_env_pass},
    // network and other grants
    {"--no-network", "", "", A::kSwitch, "", "network",
     "no network (the default); takes an earlier grant back", take_network_back},
    {"--allow-domain", "network.allow", "", A::kList, "HOST[:PORT]", "network",
     "a host that can be reached: api.github.com, *.github.com, 10.1.2.3:5432",
     add_domain<&S::allow_domains, PatternUse::kAllow>},
    {"--deny-domain", "network.deny", "", A::kList, "HOST[:PORT]", "network",
     "a host that can't, whatever is allowed", add_domain<&S::deny_domains, PatternUse::kDeny>},
    {"--allow-request", "network.requests", "", A::kList, "RULE", "network",
     "requests of a host: 'GET,HEAD https://api.github.com/repos/*'", add_request},
    {"--deny-address", "network.deny_addresses", "", A::kList, "RANGE", "network",
     "addresses that no name may lead to: 10.0.0.0/8", add_deny_address},
    {"--secret", "network.secrets", "", A::kList, "NAME=env:VAR@HOST", "network",
     "a credential that never enters the cell; also file:PATH", add_secret},
    {"--forward", "network.forward", "", A::kList, "PORT", "network",
     "a port of the host's localhost, on the cell's own", add_forward},
    {"--publish", "network.publish", "", A::kList, "PORT[:HOSTPORT]", "network",
     "a port of the cell, on the host's localhost", add_publish},
    {"--allow-socket", "network.sockets", "", A::kList, "PATH", "network",
     "a Unix socket of the host, at its own path", add_socket},
    {"--upload-limit", "network.upload", "", A::kQuantity, "SIZE", "network",
     "bytes that may leave the cell in all", set_size<&S::upload_limit, 1>},
    {"--download-limit", "network.download", "", A::kQuantity, "SIZE", "network",
     "bytes that may enter it in all", set_size<&S::download_limit, 1>},
    {"--connections", "network.connections", "", A::kQuantity, "N", "network",
     "connections at once", set_count<&S::connections, 1, 65536>, "1024",
     "a crawler fits; the gateway's memory stays bounded"},
    {"--dns-type", "network.dns_types", "", A::kList, "TYPE", "network",
     "look-ups of allowed names beyond addresses: SRV, TXT", add_dns_type},
    {"--allow-network", "grants.network", "SANDBOX_ALLOW_NETWORK", A::kGrant, "", "process",
     "grant: the host's network, all of it", set_reason<&S::allow_network>},
    {"--allow-nested", "grants.nested", "", A::kGrant, "", "process",
     "grant: namespaces inside the cell, for a sandbox in the sandbox",
     set_reason<&S::allow_nested>},
    // process
    {"--no-exec", "process.no_exec", "", A::kSwitch, "", "process",
     "the program may run, nothing else may be executed", set_bool<&S::no_exec>},
    {"", "", "SANDBOX_ALLOW_EXEC", A::kSwitch, "", "process", "false: as --no-exec",
     set_allow_exec},
    {"--tty", "process.tty", "", A::kSwitch, "", "process", "a terminal of the cell's own",
     set_bool<&S::tty>},
    {"--tier", "tier", "", A::kValue, "NAME", "process",
     "the boundary: process, landlock, container, microvm", set_tier, "process",
     "the strongest boundary that needs neither root nor a daemon"},
};

}  // namespace

std::span<const SettingSpec> setting_specs() { return kSpecs; }
std::span<const std::string_view> best_effort_fields() { return kBestEffortFields; }

static Result<void> apply_within_bounds(const SettingSpec& spec, Settings& settings,
                                        std::string_view text, const Origin& origin) {
  if (text.size() > kMaxText) return Error::plain("the value is too long");
  // A NUL would cut the text short for the kernel, behind every check that was made of it.
  if (text.find('\0') != std::string_view::npos)
    return Error::plain("the value has a NUL byte in it");
  return spec.apply(settings, text, origin);
}

Result<void> apply_setting(const SettingSpec& spec, Settings& settings, std::string_view text,
                           const Origin& origin) {
  Result<void> done = apply_within_bounds(spec, settings, text, origin);
  if (done) return {};
  Error error = std::move(done).error();
  bool names_itself = origin == spec.flag || origin == spec.variable;
  error.what = names_itself ? fmt::format("{}: {}", origin, error.what)
                            : fmt::format("{}: {}: {}", origin, spec.key, error.what);
  return error;
}

Settings default_settings() {
  Settings settings;
  for (const SettingSpec& spec : kSpecs) {
    if (spec.fallback.empty()) continue;
    [[maybe_unused]] Result<void> done = spec.apply(settings, spec.fallback, "default");
    assert(done.ok());
  }
  return settings;
}

}  // namespace caisson

// Settings: what was said, by whom; optional fields, each with its origin. resolve() makes a
// Policy.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "policy/policy.h"

namespace caisson {

// Where a value came from, as a person would name it: "--memory", "SANDBOX_TIMEOUT",
// "policy.json:12".
using Origin = std::string;

template <typename T>
struct Setting {
  std::optional<T> value;
  Origin origin;
  void set(T new_value, const Origin& from) { value = std::move(new_value), origin = from; }
  explicit operator bool() const { return value.has_value(); }
};

struct MountRequest {
  std::string source, target;
  Access access = Access::kReadOnly;
  Origin origin;
};

struct EnvironmentRequest {
  std::string name, value;
  Origin origin;
};

struct Settings {
  Setting<Tier> tier;
  // The inner optional is the explicit "none".
  Setting<std::optional<std::chrono::milliseconds>> timeout;
  Setting<uint64_t> memory, file_size, tmp_size, output_limit;
  Setting<uint32_t> cpu_millis, cpu_shares, pids, files;
  std::vector<MountRequest> mounts;
  std::vector<std::pair<std::string, Origin>> allow_write;
  Setting<std::string> workspace, workdir;
  Setting<bool> read_only, no_exec, tty;
  Setting<bool> write_current_folder;                // SANDBOX_ALLOW_FS_WRITE
  Setting<std::string> allow_network, allow_nested;  // the value is the reason; "" takes it back
  std::vector<std::pair<std::string, Origin>> allow_domains, deny_domains, requests, deny_addresses;
  std::vector<std::pair<std::string, Origin>> dns_types, sockets;
  std::vector<std::pair<SecretSpec, Origin>> secrets;
  std::vector<std::pair<uint16_t, Origin>> forward;
  std::vector<std::pair<PublishedPort, Origin>> publish;
  Setting<uint64_t> upload_limit, download_limit;
  Setting<uint32_t> connections;
  std::vector<EnvironmentRequest> env_set;  // later ones win
  std::vector<std::pair<std::string, Origin>> env_pass;
  std::vector<std::pair<std::string, Origin>> best_effort;
  std::string record_folder;                                      // caisson's own; "": none
  FileRules file_rules;                                           // of the srt door
  NetworkDetails network_details;                                 // of the srt door
  std::vector<std::pair<std::string, std::string>> deny_reasons;  // a deny rule's text, and why
};

}  // namespace caisson

// What this host can do, as a value: probed once (sys/), faked in tests.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

// A folder of a cgroup hierarchy below which this user can make a cell's cgroup.
struct CgroupSlot {
  std::string controller;  // "memory", "pids", "cpu"; v2: one slot each, with the same directory
  std::string directory;   // "/sys/fs/cgroup/memory/…"
  bool operator==(const CgroupSlot&) const = default;
};

struct CgroupFacts {
  enum class Version { kNone, kV1, kV2 };
  Version version = Version::kNone;
  std::vector<CgroupSlot> slots;  // only those that can be written
  std::string why_not;            // when a controller has no slot: the reason, for the error's hint
  std::string user_manager;  // then, when systemd's user manager could delegate: its runtime folder
  bool operator==(const CgroupFacts&) const = default;
};

// A name below "/" that a cell gets read-only: a folder, or a link ("bin" → "usr/bin").
struct SystemEntry {
  std::string path;         // "/usr"
  std::string link_target;  // empty: a folder or a file
  bool is_directory = true;
  bool operator==(const SystemEntry&) const = default;
};

// A file of the host that the cell sees with other content: placeholders for its secrets.
struct MaskedFile {
  std::string path, content;
};

// Where programs in the host's own tree find the authorities when the host has none itself.
inline constexpr std::string_view kBundleInDev = "/dev/ca-bundle.pem";

// What the gateway of this one cell has made for it. Nothing of it is secret: the key of the
// authority and the values behind the placeholders stay in the gateway's process.
struct GatewayFacts {
  std::string ca_pem, ca_bundle_pem;         // empty: it ends no TLS
  std::vector<std::string> covered_bundles;  // the host's, that the cell would see
  std::vector<std::pair<std::string, std::string>> variables;  // of the cell: placeholders, …
  std::vector<MaskedFile> masked_files;
};

struct HostFacts {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string kernel_release;
  int landlock_abi = 0;  // 0: not there
  unsigned cpus = 1;
  bool lists_children = true;  // /proc/PID/task/TID/children: CONFIG_PROC_CHILDREN
  CgroupFacts cgroup;
  std::vector<SystemEntry> system;  // the allow-list of system folders, as found here
  std::vector<std::string> etc;     // the allow-list of names below /etc, as found here
  bool core_helper_is_open =
      false;                  // the caller's hard core limit is 0, and core_pattern is a pipe
  bool is_host_root = false;  // uid 0, and not only of a namespace
  bool may_map_ids = false;   // root with all it takes to give a cell ids of its own
  // Mount sources whose filesystem has no idmapped mounts; asked only when may_map_ids.
  std::vector<std::string> without_idmap;
  std::optional<GatewayFacts> gateway;
  std::optional<std::string> userns_denied;  // set by doctor's deeper look: why not
};

}  // namespace caisson

// What doctor finds out beyond probe_host(): things tried out in children that are gone a moment
// later, and settings of the host. A value: gathered once, faked in tests.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "plan/host_facts.h"
#include "policy/caller.h"

namespace caisson {

struct Attempt {
  static constexpr int kNotTried = -1;  // something that it needs had failed before
  int errnum = kNotTried;
  std::string step;  // of one that failed: "write /proc/self/uid_map"

  bool worked() const { return errnum == 0; }
  bool failed() const { return errnum > 0; }
  bool operator==(const Attempt&) const = default;
};

// A file or folder as lstat(2) shows it.
struct FileFacts {
  enum class Kind { kFile, kFolder, kLink, kOther };
  Kind kind = Kind::kFile;
  uid_t owner = 0;
  mode_t mode = 0;
  bool writable = false;  // by this process
};

struct AuditFacts {
  std::string folder, file;
  std::optional<FileFacts> folder_facts, file_facts;  // nothing: not there
  std::string above;  // when the folder is missing: the nearest one above that is there
  std::optional<FileFacts> above_facts;
};

enum class ContainerKind { kNone, kDocker, kPodman, kKubernetes, kOther };

struct NamespaceFacts {
  std::string name;           // "mount"
  std::string limit_name;     // "mnt": the part of /proc/sys/user/max_…_namespaces
  std::optional<long> limit;  // nothing: not to be read
  Attempt made;
};

struct SwapFacts {
  bool in_use = false;
  std::optional<bool> accounted;  // nothing: can't be told from where a cell's cgroup would be
};

struct DeepFacts {
  HostFacts host;

  // Where this process stands.
  std::string program;  // the path of caisson's own binary
  bool program_is_roots = false;
  ContainerKind container = ContainerKind::kNone;
  bool inside_cell = false;
  bool chrooted = false;
  bool ids_mapped = true;  // our uid and gid have a name in our own user namespace
  bool filtered = false;   // somebody else's seccomp filter is upon us
  std::string apparmor_profile;
  bool selinux_enforcing = false;

  // Settings. Nothing: this kernel does not have the setting.
  std::optional<long> userns_switch;    // kernel.unprivileged_userns_clone (Debian)
  std::optional<long> apparmor_userns;  // kernel.apparmor_restrict_unprivileged_userns (Ubuntu)
  std::optional<long> ptrace_scope;
  std::optional<long> user_limit;  // user.max_user_namespaces
  std::string core_pattern;
  std::string active_lsms;

  // Tried out.
  Attempt user_namespace;
  Attempt process_limit;        // RLIMIT_NPROC holds in a new user namespace
  Attempt process_limit_alone;  // and counts that namespace alone
  std::vector<NamespaceFacts> namespaces;
  Attempt loopback;
  Attempt tmpfs, tree_copy, tree_attributes, proc, devpts, overlay;
  Attempt clone3, pidfd, close_range, openat2;
  Attempt filter, notification;
  Attempt landlock;
  Attempt kvm;

  std::vector<CgroupSlot> own_cgroups;  // where this process is, writable or not
  bool cgroups_read_only = false;       // mounted so: a container's
  SwapFacts swap;
  AuditFacts audit;
};

// Tries out and looks; changes nothing on the host. `audit_file` is where the record would go.
DeepFacts gather_deep_facts(const Caller&, const std::string& audit_file);

}  // namespace caisson

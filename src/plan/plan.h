// Plan: the ordered operations that make one cell, as printable data. Nothing here touches the
// kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "plan/host_facts.h"
#include "policy/policy.h"

namespace caisson {

// What the policy asked and this host gives less of.
struct Degradation {
  std::string field;   // "memory"
  std::string reason;  // "no writable memory cgroup: …"
  std::string effect;  // "each process is limited, not the cell as a whole"
  bool aloud = false;  // it opens something that the policy shut: said unasked
  bool operator==(const Degradation&) const = default;
};

// Which mechanism holds which limit: {"memory", "cgroup v1"}.
struct Enforcement {
  std::string limit, mechanism;
  bool operator==(const Enforcement&) const = default;
};

struct MountFlags {
  bool read_only = false, no_exec = false,
       devices = false;  // nosuid always; nodev unless `devices`
};

// The steps that build the cell's root, all below the new root, in order.
struct MakeDirectory {
  std::string path;
  unsigned mode = 0755;
};
struct MakeFile {
  std::string path, content;
  unsigned mode = 0644;  // of an empty one
};
struct MakeLink {
  std::string path, target;
};
struct BindHost {
  std::string source, target;
  MountFlags flags;
  bool optional = false;           // skip when the source is gone (system files only)
  uint64_t device = 0, inode = 0;  // 0: not checked
  bool below_user_mount = false;   // the target lies in a folder whose content nobody has read
  bool alone = false;              // what the host mounts later stays out from the first moment
};
struct BindOwn {
  std::string path;
};  // a writable window onto the private tmpfs
struct PinDirectory {
  std::string path;
};  // mounted onto itself: it can't be renamed away
struct MountProc {
  std::string target;
  bool read_only = true;
};
struct MountDevpts {
  std::string target;
};
struct CoverFile {
  std::string path, with;
};  // a file of the root over another, read-only
struct MaskPath {
  std::string path;
  bool is_directory = false;
};  // an empty thing over it, if it is there
struct CoverFolder {
  std::string path;
};  // an empty folder over one in a user's mount; an error if it is not there
// The host view only. The root being built is then a stash, and the view stands at kViewFolder in
// it.
struct PlaceOwn {
  std::string from, target;  // of the stash, with what is mounted in it → of the view
  MountFlags flags;
};
struct CoverInView {
  std::string path, with;  // as CoverFile, but links on the way are the view's
};
inline constexpr const char* kViewFolder = "/view";
using RootStep =
    std::variant<MakeDirectory, MakeFile, MakeLink, BindHost, BindOwn, PinDirectory, MountProc,
                 MountDevpts, MaskPath, CoverFile, CoverFolder, PlaceOwn, CoverInView>;

struct ResourceLimit {
  int resource;  // RLIMIT_…
  const char* name;
  uint64_t value;
};

struct CgroupFile {
  std::string controller, file, value;  // {"memory", "memory.limit_in_bytes", "268435456"}
  bool optional = false;                // memsw, kmem.tcp: not in every kernel
};
struct CgroupPlan {
  CgroupFacts::Version version = CgroupFacts::Version::kNone;
  std::vector<CgroupSlot> slots;
  std::vector<CgroupFile> files;
};

struct LandlockRule {
  std::string path;                // inside the cell
  uint64_t access;                 // LANDLOCK_ACCESS_FS_…
  uint64_t device = 0, inode = 0;  // what must stand there; 0: not checked
};
struct LandlockPlan {
  int abi = 0;
  uint64_t handled = 0, scoped = 0;
  std::vector<LandlockRule> rules;
};

// The sockets that the cell's gateway gets from inside.
struct GatewayPlan {
  std::vector<uint16_t> forward;
  uint32_t pool_sockets = 0;  // for connections to published ports
};

enum class Filter {
  kStandard,
  kNested,
  kNoSockets,
  kNames,
  kNamesAndReads
};  // seccomp/: one array of instructions each

// What the warden judges (src/warden).
struct WardenPlan {
  std::vector<FilePattern> deny_write, deny_read, allow_read;
  std::vector<std::string> sockets;  // that may be connected to
  std::vector<FilePlace> hidden;     // covered folders; opening one is told
  bool own_network = true;           // a socket of the cell's own can be told from the host's
  bool reads = false;                // reading opens are judged as well
  bool report = true;
  bool operator==(const WardenPlan&) const = default;
};

struct Plan {
  Tier tier = Tier::kProcess;
  uint64_t namespaces = 0;  // CLONE_NEW…
  uid_t uid = 0;            // inside
  gid_t gid = 0;
  // Started by root: inside it is uid 0 (or kNestingId), outside it is a number that owns nothing;
  // the mounts of the policy are id-mapped, so that what root owns there stays its own.
  bool throwaway_ids = false;
  uint64_t tmp_bytes = 0, tmp_inodes = 0;
  std::vector<RootStep> root;
  bool bring_up_loopback = false;
  std::optional<GatewayPlan> gateway;
  std::string hostname;
  std::vector<ResourceLimit> rlimits;
  CgroupPlan cgroup;
  std::optional<uint32_t>
      pin_to_cpus;  // whole cores by affinity, where no cpu controller is to be had
  std::optional<LandlockPlan> landlock;
  Filter filter = Filter::kStandard;
  bool host_view = false;
  std::optional<WardenPlan> warden;
  Exec exec = Exec::kAllowed;
  Terminal terminal = Terminal::kNone;
  std::string workdir;
  std::vector<std::string> argv;
  std::vector<std::string> candidates;   // full paths to try, in PATH order
  std::vector<std::string> environment;  // "K=V"
  Limits limits;
  std::vector<Enforcement> enforcement;
  std::vector<Degradation> degradations;
};

// An error when the host can't give what the policy asks and the field is not best-effort.
Result<Plan> make_plan(const Policy&, const Command&, const HostFacts&);

// One line per operation, in order, for `explain`.
std::vector<std::string> describe(const Plan&);
std::string describe(const RootStep&);

}  // namespace caisson

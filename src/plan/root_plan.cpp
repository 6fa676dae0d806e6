#include "plan/root_plan.h"

#include <set>

#include <fmt/format.h>

#include "base/control.h"

namespace caisson {

std::span<const std::string_view> system_folder_names() {
  static constexpr std::string_view kNames[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                                "/lib32", "/lib64", "/libx32", "/opt"};
  return kNames;
}

// What programs need of /etc and nothing that a host keeps to itself: no shadow, no private keys
// (/etc/ssl/private stays out), no ssh, no npmrc, pip.conf or gitconfig, which can carry tokens.
// passwd, group, hosts, nsswitch.conf and resolv.conf are written anew.
std::span<const std::string_view> system_etc_names() {
  static constexpr std::string_view kNames[] = {
      "alternatives",    "crypto-policies", "fonts",           "java-11-openjdk",
      "java-17-openjdk", "java-21-openjdk", "java-25-openjdk", "ld.so.cache",
      "localtime",       "mime.types",      "pki/ca-trust",    "pki/tls/certs",
      "protocols",       "services",        "ssl/certs",       "ssl/openssl.cnf",
  };
  return kNames;
}

namespace {

// Names of /proc that tell about the host rather than the cell (T65), and those that reach into the
// kernel but are closed to all but the host's uid 0 (T22, T23).
struct ProcMask {
  const char* name;
  bool is_directory, root_only;
};
// The last files and the last folders are ones that every kernel has (see mask() in the launch).
constexpr ProcMask kProcMasks[] = {
    {"acpi", true, false},         {"asound", true, false},      {"scsi", true, false},
    {"irq", true, false},          {"bus", true, false},         {"driver", true, false},
    {"fs", true, false},           {"kcore", false, true},       {"kmsg", false, true},
    {"kpagecgroup", false, true},  {"kpagecount", false, true},  {"kpageflags", false, true},
    {"pagetypeinfo", false, true}, {"slabinfo", false, true},    {"sysrq-trigger", false, true},
    {"timer_list", false, true},   {"vmallocinfo", false, true}, {"modules", false, false},
    {"sched_debug", false, false}, {"schedstat", false, false},  {"kallsyms", false, false},
    {"key-users", false, false},   {"keys", false, false},       {"partitions", false, false},
    {"diskstats", false, false},   {"interrupts", false, false}, {"locks", false, false},
    {"cmdline", false, false},
};

constexpr size_t kUsualSteps = 128;

class RootBuilder {
 public:
  RootBuilder(const Policy& policy, const HostFacts& facts, const CellIds& ids)
      : policy_(policy), facts_(facts), ids_(ids) {}

  std::vector<RootStep> build() {
    steps_.reserve(kUsualSteps);  // grown step by step it would leave as much behind on the heap
    dev();
    proc();  // early, so that its masks can be put on beside the rest
    system_folders();
    etc();
    private_space();
    user_links();
    user_mounts();
    covers();
    return std::move(steps_);
  }

 private:
  template <typename Step>
  void add(Step step) {
    steps_.push_back(std::move(step));
  }

  // Every folder above `path`, once each. On the private tmpfs: nothing on the host is created.
  void parents_of(const std::string& path) {
    for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
      directory(path.substr(0, at));
  }
  void directory(const std::string& path) {
    if (made_.insert(path).second) add(MakeDirectory{path});
  }
  void mount_point(const std::string& path, bool is_directory) {
    parents_of(path);
    if (is_directory)
      directory(path);
    else if (made_.insert(path).second)
      add(MakeFile{path, ""});
  }

  void system_folders() {
    for (const SystemEntry& entry : facts_.system) {
      if (!entry.link_target.empty()) {
        add(MakeLink{entry.path, entry.link_target});
        made_.insert(entry.path);
        continue;
      }
      mount_point(entry.path, entry.is_directory);
      add(BindHost{.source = entry.path,
                   .target = entry.path,
                   .flags = {.read_only = control_enabled("system-read-only")}});
    }
  }

  void etc() {
    directory("/etc");
    for (const std::string& name : facts_.etc) {
      std::string path = "/etc/" + name;
      bool is_directory = name.back() == '/';
      if (is_directory) path.pop_back();
      mount_point(path, is_directory);
      add(BindHost{.source = path,
                   .target = path,
                   .flags = {.read_only = true, .no_exec = true},
                   .optional = true});
    }
    add(MakeFile{"/etc/passwd", fmt::format("root:x:0:0:root:/tmp:/bin/sh\n{}"
                                            "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
                                            own_passwd_line())});
    add(MakeFile{"/etc/group", fmt::format("root:x:0:\n{}nogroup:x:65534:\n", own_group_line())});
    add(MakeFile{"/etc/nsswitch.conf",
                 "passwd: files\ngroup: files\nhosts: files dns\n"
                 "services: files\nprotocols: files\n"});
    add(MakeLink{"/etc/os-release", "../usr/lib/os-release"});
    add(MakeLink{"/etc/mtab", "../proc/self/mounts"});
    if (policy_.has(GrantKind::kHostNetwork)) {
      for (const char* path : {"/etc/hosts", "/etc/resolv.conf"}) {
        mount_point(path, false);
        add(BindHost{.source = path,
                     .target = path,
                     .flags = {.read_only = true, .no_exec = true},
                     .optional = true});
      }
    } else {
      add(MakeFile{"/etc/hosts",
                   fmt::format("127.0.0.1 localhost {0}\n::1 localhost {0}\n", policy_.hostname)});
      add(MakeFile{"/etc/resolv.conf",
                   policy_.network.needs_gateway() ? "nameserver 127.0.0.1\n" : ""});
    }
    authorities();
  }

  // The cell's own authority, in the host's bundles and beside them.
  void authorities() {
    if (!facts_.gateway || facts_.gateway->ca_pem.empty()) return;
    directory("/etc/caisson");
    add(MakeFile{"/etc/caisson/cell-ca.pem", facts_.gateway->ca_pem});
    add(MakeFile{"/etc/caisson/ca-bundle.pem", facts_.gateway->ca_bundle_pem});
    for (const std::string& path : facts_.gateway->covered_bundles)
      add(CoverFile{path, "/etc/caisson/ca-bundle.pem"});
  }

  std::string own_passwd_line() const {
    if (ids_.uid == 0 || ids_.uid == 65534) return {};
    return fmt::format("{}:x:{}:{}:{}:/tmp:/bin/sh\n", user_name(), ids_.uid, ids_.gid,
                       user_name());
  }
  std::string own_group_line() const {
    if (ids_.gid == 0 || ids_.gid == 65534) return {};
    return fmt::format("{}:x:{}:\n", user_name(), ids_.gid);
  }
  std::string user_name() const {
    for (const auto& [name, value] : policy_.environment)
      if (name == "USER" && !value.empty() && value.find_first_of(":\n") == std::string::npos)
        return value;
    return "user";
  }

  void dev() {
    made_.insert("/dev");
    add_devices(steps_);
  }

  void proc() {
    directory("/proc");
    if (!control_enabled("namespace-pid")) return;  // no proc of a foreign pid namespace can be had
    directory("/run");  // stays empty: what masks a folder is a view of it
    // A user namespace inside the cell writes its id maps through /proc, and the kernel lets it
    // mount a proc of its own only where no part of the outer one is hidden (mount_too_revealing).
    bool nested = policy_.has(GrantKind::kNestedNamespaces);
    add(MountProc{"/proc", !nested});
    if (nested || !control_enabled("proc-masks")) return;
    add_proc_masks(steps_, "/proc", ids_);
  }

  void private_space() {
    for (const char* path : {"/tmp", "/dev/shm"}) {
      made_.insert(path);
      add(MakeDirectory{path, 01777});
      add(BindOwn{path});
    }
    directory("/var");
    link_unless_mounted("/var/tmp", "/tmp");
    link_unless_mounted("/var/run", "/run");
  }

  // A mount of the policy that lies there needs a folder in its place.
  void link_unless_mounted(const std::string& path, const char* target) {
    for (const Mount& mount : policy_.mounts)
      if (mount.target.starts_with(path)) return;
    if (made_.insert(path).second) add(MakeLink{path, target});
  }

  void user_links() {
    for (const Link& link : policy_.links) {
      parents_of(link.path);
      if (made_.insert(link.path).second) add(MakeLink{link.path, link.target});
    }
  }

  void user_mounts() {
    for (const Mount& mount : policy_.mounts) {
      const Mount* outer = outer_mount(mount.target);
      bool nested = outer != nullptr;
      if (nested && outer->access == Access::kReadWrite) pin_between(outer->target, mount.target);
      if (!nested) mount_point(mount.target, mount.is_directory);
      add(BindHost{.source = mount.source,
                   .target = mount.target,
                   .flags = {.read_only = mount.access == Access::kReadOnly &&
                                          control_enabled("mount-read-only")},
                   .device = mount.device,
                   .inode = mount.inode,
                   .below_user_mount = nested && control_enabled("mount-links")});
    }
  }
  // After the mounts that show what is covered. A writable folder above one could be renamed as the
  // folder above a mount could.
  void covers() {
    if (policy_.covers.empty() || !control_enabled("record-cover")) return;
    directory("/run");  // a view of it is the empty folder
    for (const Cover& cover : policy_.covers) {
      const Mount* outer = outer_mount(cover.path);
      if (outer && outer->access == Access::kReadWrite) pin_between(outer->target, cover.path);
      add(CoverFolder{cover.path});
    }
  }
  // The innermost mount of the policy that `target` lies in.
  const Mount* outer_mount(const std::string& target) const {
    const Mount* outer = nullptr;
    for (const Mount& other : policy_.mounts)
      if (target.size() > other.target.size() && target.starts_with(other.target) &&
          target[other.target.size()] == '/')
        outer = &other;  // they are ordered, parents first
    return outer;
  }
  // A mount point can't be renamed, but a folder above it could be, and another put in its place:
  // the host would then find the cell's files under the protected name (T07).
  void pin_between(const std::string& outer, const std::string& target) {
    if (!control_enabled("pinned-parents") || !control_enabled("mount-links")) return;
    for (size_t at = target.find('/', outer.size() + 1); at != std::string::npos;
         at = target.find('/', at + 1))
      if (std::string folder = target.substr(0, at); made_.insert(folder).second)
        add(PinDirectory{folder});
  }

  const Policy& policy_;
  const HostFacts& facts_;
  CellIds ids_;
  std::vector<RootStep> steps_;
  std::set<std::string> made_;
};

}  // namespace

void add_proc_masks(std::vector<RootStep>& steps, const std::string& proc, const CellIds& ids) {
  for (const ProcMask& mask : kProcMasks)
    if (!mask.root_only || ids.is_host_root)
      steps.push_back(MaskPath{fmt::format("{}/{}", proc, mask.name), mask.is_directory});
}

void add_devices(std::vector<RootStep>& steps) {
  steps.push_back(MakeDirectory{"/dev"});
  for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"}) {
    std::string path = fmt::format("/dev/{}", name);
    steps.push_back(MakeFile{path, ""});
    steps.push_back(
        BindHost{.source = path, .target = path, .flags = {.no_exec = true, .devices = true}});
  }
  steps.push_back(MakeLink{"/dev/fd", "/proc/self/fd"});
  steps.push_back(MakeLink{"/dev/stdin", "/proc/self/fd/0"});
  steps.push_back(MakeLink{"/dev/stdout", "/proc/self/fd/1"});
  steps.push_back(MakeLink{"/dev/stderr", "/proc/self/fd/2"});
  steps.push_back(MakeLink{"/dev/ptmx", "pts/ptmx"});
  steps.push_back(MakeDirectory{"/dev/pts"});
  steps.push_back(MountDevpts{"/dev/pts"});
}

std::vector<RootStep> plan_root(const Policy& policy, const HostFacts& facts, const CellIds& ids) {
  return RootBuilder(policy, facts, ids).build();
}

}  // namespace caisson

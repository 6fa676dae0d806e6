// gather_deep_facts(): the settings of this host, and what the trials say.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>

#include "base/text.h"
#include "base/unique_fd.h"
#include "host/cgroup_tree.h"
#include "host/deep_facts.h"
#include "host/delegation.h"
#include "host/host_texts.h"
#include "host/probe.h"
#include "host/trial.h"

namespace caisson {

namespace {

// With a large buffer from the start: a file of /proc/sys gives its number to the first read(2) and
// nothing to a second, however short the first was (proc_dointvec(), kernel/sysctl.c).
std::string read_text(const std::string& path) {
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  std::string text;
  char buffer[16384];
  for (ssize_t got; fd && (got = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  return text;
}

std::optional<long> read_number(const std::string& path) {
  std::string text = read_text(path);
  std::string_view digits = trim(text);
  long value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc()) return std::nullopt;
  return value;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

void look_at_process(const Caller& caller, DeepFacts& facts) {
  RealHostFiles files;
  facts.program = files.link_target("/proc/self/exe").value_or("/usr/local/bin/caisson");
  struct stat info;
  facts.program_is_roots = ::stat(facts.program.c_str(), &info) == 0 && info.st_uid == 0;
  facts.container = container_kind({.first_pid_namespace = is_first_pid_namespace(
                                        files.link_target("/proc/self/ns/pid").value_or("")),
                                    .docker_file = exists("/.dockerenv"),
                                    .podman_file = exists("/run/.containerenv"),
                                    .kubernetes = !caller.env("KUBERNETES_SERVICE_HOST").empty(),
                                    .systemd_name = read_text("/run/systemd/container"),
                                    .variable = caller.env("container")});
  facts.inside_cell = caller.env("CAISSON") == "1";
  facts.chrooted = root_is_no_mount(read_text("/proc/self/mountinfo"));
  facts.ids_mapped = is_mapped(read_text("/proc/self/uid_map"), facts.host.uid) &&
                     is_mapped(read_text("/proc/self/gid_map"), facts.host.gid);
  facts.filtered = has_seccomp_filter(read_text("/proc/self/status"));
  facts.apparmor_profile = trim(read_text("/proc/self/attr/apparmor/current"));
  facts.selinux_enforcing = read_number("/sys/fs/selinux/enforce") == 1;
}

void look_at_settings(DeepFacts& facts) {
  facts.userns_switch = read_number("/proc/sys/kernel/unprivileged_userns_clone");
  facts.apparmor_userns = read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  facts.ptrace_scope = read_number("/proc/sys/kernel/yama/ptrace_scope");
  facts.user_limit = read_number("/proc/sys/user/max_user_namespaces");
  for (NamespaceFacts& one : facts.namespaces)
    one.limit = read_number("/proc/sys/user/max_" + one.limit_name + "_namespaces");
  facts.core_pattern = trim(read_text("/proc/sys/kernel/core_pattern"));
  facts.active_lsms = trim(read_text("/sys/kernel/security/lsm"));
}

void look_at_cgroups(DeepFacts& facts) {
  CgroupView view;
  CgroupTree tree(view);
  OwnCgroups own = parse_own_cgroups(tree.read("/proc/self/cgroup"));
  bool is_v1 = facts.host.cgroup.version == CgroupFacts::Version::kV1;
  for (const char* controller : {"memory", "pids", "cpu"}) {
    const std::string* path = is_v1 ? own.path_of(controller) : own.unified_path();
    if (!path) continue;
    std::string folder = is_v1 ? tree.find_v1(controller, *path).own : tree.find_v2(*path).own;
    if (!folder.empty()) facts.own_cgroups.push_back({controller, std::move(folder)});
  }
  facts.cgroups_read_only = !facts.own_cgroups.empty() &&
                            ::access(facts.own_cgroups[0].directory.c_str(), W_OK) != 0 &&
                            errno == EROFS;
}

void look_at_swap(DeepFacts& facts) {
  facts.swap.in_use = split(trim(read_text("/proc/swaps")), '\n').size() > 1;  // below its heading
  bool is_v1 = facts.host.cgroup.version == CgroupFacts::Version::kV1;
  for (const CgroupSlot& own : facts.own_cgroups) {
    if (own.controller != "memory") continue;
    // The top of a v2 hierarchy has no memory files at all.
    if (!is_v1 && !exists(own.directory + "/memory.max")) return;
    facts.swap.accounted =
        exists(own.directory + (is_v1 ? "/memory.memsw.limit_in_bytes" : "/memory.swap.max"));
  }
}

std::optional<FileFacts> look_at_file(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return std::nullopt;
  FileFacts facts{FileFacts::Kind::kOther, info.st_uid, info.st_mode & 07777, false};
  if (S_ISREG(info.st_mode)) facts.kind = FileFacts::Kind::kFile;
  if (S_ISDIR(info.st_mode)) facts.kind = FileFacts::Kind::kFolder;
  if (S_ISLNK(info.st_mode)) facts.kind = FileFacts::Kind::kLink;
  facts.writable = ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
  return facts;
}

std::string folder_above(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

void look_at_audit(const std::string& file, DeepFacts& facts) {
  AuditFacts& audit = facts.audit;
  audit.file = file;
  audit.folder = folder_above(file);
  audit.file_facts = look_at_file(file);
  audit.folder_facts = look_at_file(audit.folder);
  if (audit.folder_facts) return;
  // Ends at "/": it is always there.
  for (audit.above = audit.folder; !audit.above_facts;) {
    audit.above = folder_above(audit.above);
    audit.above_facts = look_at_file(RealHostFiles().canonical(audit.above).value_or(audit.above));
    if (audit.above == "/") break;
  }
}

void try_kvm(DeepFacts& facts) {
  UniqueFd fd{::open("/dev/kvm", O_RDWR | O_CLOEXEC)};
  facts.kvm = {fd ? 0 : errno, "open /dev/kvm"};
}

}  // namespace

DeepFacts gather_deep_facts(const Caller& caller, const std::string& audit_file) {
  DeepFacts facts;
  facts.host = probe_host();
  (void)ask_for_delegation(
      facts.host.cgroup);  // as exec does; what is missing is a check of its own
  try_user_namespace(facts);
  try_namespaces(facts);
  try_mounts(facts);
  try_process_calls(facts);
  try_seccomp(facts);
  try_landlock(facts);
  try_kvm(facts);
  look_at_process(caller, facts);
  look_at_settings(facts);
  look_at_cgroups(facts);
  look_at_swap(facts);
  look_at_audit(audit_file, facts);
  return facts;
}

}  // namespace caisson

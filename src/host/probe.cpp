#include "host/probe.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "host/cgroup_probe.h"
#include "plan/root_plan.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson {

bool kernel_lists_children() { return ::access("/proc/thread-self/children", R_OK) == 0; }

static int landlock_abi() {
  long abi = sys_call(kernel::kLandlockCreateRuleset, 0L, 0L, long{kernel::kLandlockQueryVersion});
  return abi < 0 ? 0 : static_cast<int>(abi);
}

static std::vector<SystemEntry> system_entries() {
  std::vector<SystemEntry> entries;
  RealHostFiles files;
  for (std::string_view name : system_folder_names()) {
    SystemEntry entry{std::string(name), "", true};
    struct stat info;
    if (::lstat(entry.path.c_str(), &info) != 0) continue;
    if (S_ISLNK(info.st_mode))
      entry.link_target = files.link_target(entry.path).value_or("");
    else
      entry.is_directory = S_ISDIR(info.st_mode);
    entries.push_back(std::move(entry));
  }
  return entries;
}

// A trailing slash marks a folder.
static std::vector<std::string> etc_entries() {
  std::vector<std::string> names;
  for (std::string_view name : system_etc_names()) {
    std::string path = "/etc/" + std::string(name);
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) continue;
    names.push_back(std::string(name) + (S_ISDIR(info.st_mode) ? "/" : ""));
  }
  return names;
}

static unsigned usable_cpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

static bool has_capabilities_to_map() {
  constexpr uint32_t kNeeded = 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_SYS_ADMIN;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  return sys_call(SYS_capget, &header, sets) >= 0 && (sets[0].effective & kNeeded) == kNeeded;
}

// Root of a cell or of a container may be another number outside, and lack what it takes.
static void look_at_root(HostFacts& facts) {
  if (facts.uid != 0) return;
  std::string map = RealHostFiles().read("/proc/self/uid_map", 4096).value_or("");
  std::vector<std::string> words;
  for (std::string_view word : split(map, ' '))
    if (!trim(word).empty()) words.emplace_back(trim(word));
  facts.is_host_root = words.size() < 2 || words[1] == "0";
  // The initial namespace maps every number onto itself (user_namespaces(7)).
  bool has_all_ids = words.size() == 3 && words[2] == "4294967295";
  facts.may_map_ids = has_all_ids && facts.gid == 0 && has_capabilities_to_map();
}

// RLIMIT_CORE can't be raised from 0 to the 1 that stops a helper (core(5)).
static bool core_helper_is_open() {
  rlimit now{};
  if (::getrlimit(RLIMIT_CORE, &now) != 0 || now.rlim_max != 0) return false;
  return RealHostFiles().read("/proc/sys/kernel/core_pattern", 256).value_or("").starts_with('|');
}

static HostFacts probe_without_folders() {
  HostFacts facts;
  facts.uid = ::geteuid();
  facts.gid = ::getegid();
  utsname name{};
  if (::uname(&name) == 0) facts.kernel_release = name.release;
  look_at_root(facts);
  facts.core_helper_is_open = core_helper_is_open();
  facts.landlock_abi = landlock_abi();
  facts.cpus = usable_cpus();
  return facts;
}

// Where the folders are that hold a limit takes some ten calls to find out; srt's cells have none.
static bool needs_cgroup(const Limits& limits) {
  return limits.memory_bytes || limits.pids || limits.cpu_millis || limits.cpu_shares;
}

static HostFacts probe_with_folders() {
  HostFacts facts = probe_without_folders();
  facts.system = system_entries();
  facts.etc = etc_entries();
  return facts;
}

HostFacts probe_host() {
  HostFacts facts = probe_with_folders();
  facts.cgroup = probe_cgroups(CgroupView{});
  return facts;
}

HostFacts probe_host_for(const Policy& policy) {
  HostFacts facts = policy.file_rules.host_view ? probe_without_folders() : probe_with_folders();
  if (needs_cgroup(policy.limits))
    facts.cgroup = probe_cgroups(CgroupView{});
  else
    facts.cgroup.why_not = "no limit asks for one";
  if (facts.may_map_ids)
    facts.without_idmap = sources_without_idmap(policy.mounts, facts.kernel_release);
  return facts;
}

}  // namespace caisson

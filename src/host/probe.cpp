#include "host/probe.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/cgroup_probe.h"
#include "plan/root_plan.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson {

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

HostFacts probe_host() {
  HostFacts facts;
  facts.uid = ::geteuid();
  facts.gid = ::getegid();
  utsname name{};
  if (::uname(&name) == 0) facts.kernel_release = name.release;
  facts.landlock_abi = landlock_abi();
  facts.cpus = usable_cpus();
  facts.cgroup = probe_cgroups(CgroupView{});
  facts.system = system_entries();
  facts.etc = etc_entries();
  return facts;
}

}  // namespace caisson

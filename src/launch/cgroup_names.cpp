#include "launch/cgroup_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "base/unique_fd.h"

namespace caisson {

namespace {

constexpr std::string_view kCellPrefix = "caisson-", kSupervisorPrefix = "caisson-supervisor-";

// /proc/PID/stat counts a process's start in these since boot, suspended time among it.
uint64_t ticks_since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  uint64_t per_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<uint64_t>(now.tv_sec) * per_second +
         static_cast<uint64_t>(now.tv_nsec) * per_second / 1000000000;
}

template <typename T>
bool parse_number(std::string_view text, T& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// Field 22 of /proc/PID/stat. The second field is a name that may hold blanks and parentheses.
std::optional<uint64_t> start_of(pid_t pid) {
  UniqueFd fd{::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC)};
  char buffer[1024];
  ssize_t size = fd ? ::read(fd.get(), buffer, sizeof buffer) : -1;
  if (size <= 0) return std::nullopt;
  std::string_view text(buffer, static_cast<size_t>(size));
  std::vector<std::string_view> fields = split(text.substr(text.rfind(')') + 1), ' ');
  uint64_t start = 0;
  if (fields.size() < 21 || !parse_number(fields[20], start)) return std::nullopt;
  return start;
}

size_t sweep_directory(const std::string& directory) {
  struct Close {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  std::unique_ptr<DIR, Close> dir(::opendir(directory.c_str()));
  if (!dir) return 0;
  std::vector<std::string> stale;
  while (dirent* entry = ::readdir(dir.get())) {
    std::optional<CgroupOwner> owner = owner_of_cgroup(entry->d_name);
    if (owner && is_gone(*owner)) stale.push_back(entry->d_name);
  }
  size_t removed = 0;
  for (const std::string& name : stale)
    removed += ::unlinkat(::dirfd(dir.get()), name.c_str(), AT_REMOVEDIR) == 0;
  return removed;
}

}  // namespace

std::string new_cgroup_name() {
  uint32_t random = 0;
  if (::getrandom(&random, sizeof random, GRND_NONBLOCK) < 0) random = 0;
  return fmt::format("{}{}-{}-{:08x}", kCellPrefix, ::getpid(), ticks_since_boot(), random);
}

std::string supervisor_leaf_name() { return fmt::format("{}{}", kSupervisorPrefix, ::getpid()); }

std::optional<CgroupOwner> owner_of_cgroup(std::string_view name) {
  CgroupOwner owner;
  if (name.starts_with(kSupervisorPrefix)) {
    if (!parse_number(name.substr(kSupervisorPrefix.size()), owner.pid)) return std::nullopt;
  } else if (name.starts_with(kCellPrefix)) {
    std::vector<std::string_view> parts = split(name.substr(kCellPrefix.size()), '-');
    uint64_t when = 0;
    if (parts.size() != 3 || !parse_number(parts[0], owner.pid) || !parse_number(parts[1], when))
      return std::nullopt;
    owner.when = when;
  }
  if (owner.pid <= 0) return std::nullopt;
  return owner;
}

bool is_gone(const CgroupOwner& owner) {
  // Asked first, since a /proc mounted with hidepid shows no processes of others.
  if (::kill(owner.pid, 0) != 0 && errno == ESRCH) return true;
  std::optional<uint64_t> start = start_of(owner.pid);
  return start && owner.when && *start > *owner.when;
}

size_t sweep_stale_cgroups(const CgroupPlan& plan) {
  std::set<std::string> directories;
  for (const CgroupSlot& slot : plan.slots) directories.insert(slot.directory);
  size_t removed = 0;
  for (const std::string& directory : directories) removed += sweep_directory(directory);
  return removed;
}

}  // namespace caisson

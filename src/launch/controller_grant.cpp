#include "launch/controller_grant.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "base/unique_fd.h"
#include "launch/cgroup_folder.h"
#include "launch/cgroup_names.h"

namespace caisson {

namespace {

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  for (std::string_view each : words)
    if (each == word) return true;
  return false;
}

// "+memory +pids" for those that are not handed out yet.
std::string missing(int parent, std::span<const std::string> controllers) {
  char text[512];
  long size = read_cgroup_file(parent, "cgroup.subtree_control", text);
  std::string_view enabled(text, size > 0 ? static_cast<size_t>(size) : 0);
  std::vector<std::string_view> words = split(trim(enabled), ' ');
  std::string wanted;
  for (const std::string& controller : controllers) {
    if (contains(words, controller)) continue;
    if (!wanted.empty()) wanted += ' ';
    wanted += '+';
    wanted += controller;
  }
  return wanted;
}

// Moves this process into the leaf, which an earlier process of the same number may have left.
long step_aside(int parent, const std::string& leaf, pid_t companion) {
  if (::mkdirat(parent, leaf.c_str(), 0755) != 0 && errno != EEXIST) return -errno;
  UniqueFd folder{::openat(parent, leaf.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!folder) return -errno;
  if (companion > 0) {
    long moved = write_cgroup_file(folder.get(), "cgroup.procs", std::to_string(companion));
    if (moved < 0) return moved;
  }
  return write_cgroup_file(folder.get(), "cgroup.procs", "0");
}

Error refused(const std::string& directory, const std::string& wanted, long result) {
  Error error =
      Error::from_errno(fmt::format("write {} to {}/cgroup.subtree_control", wanted, directory),
                        static_cast<int>(-result));
  if (result == -EBUSY)
    error.hint =
        "other processes live in this cgroup; start caisson in one of its own: "
        "systemd-run --user --scope -p Delegate=yes caisson …";
  return error;
}

}  // namespace

Result<std::string> grant_controllers(int parent, const std::string& directory,
                                      std::span<const std::string> controllers, pid_t companion) {
  std::string leaf = supervisor_leaf_name();
  std::string wanted = missing(parent, controllers);
  if (wanted.empty()) return ::faccessat(parent, leaf.c_str(), F_OK, 0) == 0 ? leaf : std::string();

  long result = write_cgroup_file(parent, "cgroup.subtree_control", wanted);
  if (result > 0) return std::string();
  if (result != -EBUSY) return refused(directory, wanted, result);

  long moved = step_aside(parent, leaf, companion);
  if (moved > 0) result = write_cgroup_file(parent, "cgroup.subtree_control", wanted);
  if (moved > 0 && result > 0) return leaf;
  leave_supervisor_leaf(parent, leaf.c_str());
  if (moved <= 0)
    return Error::from_errno(fmt::format("step aside into {}/{}", directory, leaf),
                             static_cast<int>(-moved));
  return refused(directory, wanted, result);
}

}  // namespace caisson

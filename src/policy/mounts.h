// Which host files a cell sees, and where: the requests of a person, the current folder.
#pragma once

#include "base/result.h"
#include "policy/caller.h"
#include "policy/host_files.h"
#include "policy/places.h"
#include "policy/policy.h"
#include "policy/settings.h"

namespace caisson {

// What resolve() was given, plus what it looked up once.
struct Scene {
  const Settings& settings;
  const Caller& caller;
  const HostFiles& files;
  Homes homes;
};

constexpr std::string_view kWorkspaceTarget = "/workspace";
constexpr std::string_view kPrivateFolder = "/tmp";

// A path that a mount was found by, and where it led.
struct Way {
  std::string path, end;
  Origin origin;
};

// --mount, --workspace and --allow-write.
Result<std::vector<Way>> add_requested_mounts(const Scene&, Policy&);
// The current folder, read-only at its own path, or a note why not.
void add_current_folder(const Scene&, Policy&);
// Sorts by target; refuses two on one target, and a target that would have to be made on the host.
Result<void> order_mounts(const Scene&, Policy&);
// No mount is found over a link that a cell of this policy could have turned, or turns right now.
Result<void> check_ways(const Scene&, const Policy&, const std::vector<Way>&);
// --workdir, or the workspace, or the current folder, or /tmp.
Result<void> choose_workdir(const Scene&, Policy&);

// The innermost mount that `path` lies in; nothing if none.
const Mount* mount_over(const std::vector<Mount>&, std::string_view path);
// The cell sees the host's `path` under its own name.
bool is_visible(const std::vector<Mount>&, std::string_view path);

}  // namespace caisson

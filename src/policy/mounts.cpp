#include "policy/mounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/control.h"
#include "base/text.h"
#include "policy/link_walk.h"
#include "policy/record.h"
#include "policy/units.h"

namespace caisson {

namespace {

constexpr size_t kMaxMounts = 512;
constexpr std::string_view kWorkDirVariable = "SANDBOX_WORK_DIR";

// Flags are the only origins that start so: a policy file's name never does (policy_json.cpp).
bool is_flag(const Origin& origin) { return origin.starts_with("--"); }

// read_only from a file or variable is a default that a flag may lift for its own mount;
// read_only as a flag is the last word.
Access allowed_access(const Settings& settings, Access asked, const Origin& origin) {
  bool read_only = settings.read_only.value.value_or(false);
  bool lifted = is_flag(origin) && !is_flag(settings.read_only.origin);
  return read_only && !lifted ? Access::kReadOnly : asked;
}

// "~/x" and relative paths made absolute, links and dots left as they are: the kernel's own walk
// decides what "link/.." means.
Result<std::string> absolute_source(const Scene& scene, const std::string& text,
                                    const Origin& origin) {
  std::string path = text;
  if (text == "~" || text.starts_with("~/")) {
    if (!scene.caller.home.starts_with('/'))
      return Error::plain(fmt::format("{}: {}: the caller has no home folder", origin, text));
    path = join_path(scene.caller.home, text.size() > 2 ? text.substr(2) : "");
  } else if (!text.starts_with('/')) {
    if (scene.caller.cwd.empty())
      return Error::plain(fmt::format("{}: {}: the current folder is gone", origin, text),
                          "write an absolute path");
    path = join_path(scene.caller.cwd, text);
  }
  if (path.size() > kMaxPath)
    return Error::plain(fmt::format("{}: {} is too long a path", origin, in_quotes(text)));
  return path;
}

// A bind of /proc or /dev would carry the host's processes and devices into the cell, whatever its
// own /proc hides; and "/" carries both.
Result<void> check_source(const std::string& path, const Origin& origin) {
  bool shared_memory = is_within(path, "/dev/shm") && path != "/dev/shm";
  for (std::string_view folder : {"/proc", "/sys", "/dev"}) {
    if ((!is_within(path, folder) || shared_memory) && path != "/") continue;
    return Error::plain(fmt::format("{}: {} can't be mounted into a cell", origin, path),
                        "mount a folder of files; the cell has its own /proc and /dev");
  }
  return {};
}

Result<Mount> look_at_source(const Scene& scene, const std::string& text, const Origin& origin) {
  std::string path = TRY(absolute_source(scene, text, origin));
  std::optional<std::string> source = scene.files.canonical(path);
  std::optional<FileIdentity> found = source ? scene.files.look_exactly(*source) : std::nullopt;
  if (!found)
    return Error::plain(fmt::format("{}: {} does not exist or can't be reached", origin, path),
                        fmt::format("mkdir -p {} makes it a folder", shell_quote(path)));
  TRY(check_source(*source, origin));
  // A socket or a device is a way out of the cell, not a file.
  if (found->kind == FileIdentity::Kind::kSocket)
    return Error::plain(fmt::format("{}: {} is a socket", origin, path),
                        fmt::format("--allow-socket {} gives it to the cell", shell_quote(path)));
  if (found->kind == FileIdentity::Kind::kOther)
    return Error::plain(fmt::format("{}: {} is neither a file nor a folder", origin, path),
                        "pipes and devices are not mounted");
  return Mount{.source = *source,
               .origin = origin,
               .device = found->device,
               .inode = found->inode,
               .is_directory = found->kind == FileIdentity::Kind::kDirectory};
}

Result<void> check_target(const std::string& target, const Origin& origin) {
  for (std::string_view own : {"/proc", "/sys", "/dev"})
    if (is_within(target, own))
      return Error::plain(fmt::format("{}: nothing can be mounted on {}", origin, target),
                          fmt::format("{} is the cell's own", own));
  bool covers = target == "/" || target == "/etc" ||
                std::ranges::find(system_folders(), target) != system_folders().end();
  if (covers)
    return Error::plain(fmt::format("{}: a mount on {} would cover the system", origin, target),
                        "mount it below, or elsewhere: SRC:/data");
  return {};
}

// Below a system folder there is no place to make: the target has to be there already. Links on the
// way (/bin is usr/bin) are resolved here, since the launch follows none.
Result<std::string> settle_target(const Scene& scene, const std::string& target,
                                  const Origin& origin) {
  TRY(check_target(target, origin));
  bool in_system =
      std::ranges::any_of(system_folders(), [&](auto folder) { return is_within(target, folder); });
  if (!in_system) return target;
  std::optional<std::string> there = scene.files.canonical(target);
  if (!there || !is_system_path(*there))
    return Error::plain(
        fmt::format("{}: {} is not there, and a system folder takes no new names", origin, target),
        "mount it elsewhere: SRC:/data");
  TRY(check_target(*there, origin));
  return *there;
}

Result<void> add_mount(const Scene& scene, Policy& policy, Mount mount, std::string target,
                       Access access) {
  mount.target = TRY(settle_target(scene, target, mount.origin));
  mount.access = allowed_access(scene.settings, access, mount.origin);
  if (policy.mounts.size() >= kMaxMounts)
    return Error::plain(fmt::format("{}: more than {} mounts", mount.origin, kMaxMounts));
  // Said twice is said once; said differently is for order_mounts to refuse.
  bool repeated = std::ranges::any_of(policy.mounts, [&](const Mount& other) {
    return other.target == mount.target && other.source == mount.source &&
           other.access == mount.access;
  });
  if (repeated) return {};
  if (scene.homes.reaches(mount.source))
    policy.notes.push_back(fmt::format("{}: all of {} is visible, keys and tokens among it",
                                       mount.origin, printable(mount.source)));
  policy.mounts.push_back(std::move(mount));
  return {};
}

// The one folder that is made when it is missing, as the variable's users expect; never its
// parents.
void make_work_dir(const Scene& scene, const std::string& path) {
  if (scene.files.canonical(path)) return;
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) trimmed.pop_back();
  std::optional<std::string> parent = scene.files.canonical(std::string(parent_of(trimmed)));
  std::string_view name = name_of(trimmed);
  if (parent && !name.empty() && name != "." && name != "..")
    scene.files.make_directory(join_path(*parent, name));
}

Result<std::optional<Mount>> find_workspace(const Scene& scene) {
  const Setting<std::string>& workspace = scene.settings.workspace;
  if (!workspace) return std::optional<Mount>();
  if (workspace.origin == kWorkDirVariable)
    make_work_dir(scene, TRY(absolute_source(scene, *workspace.value, workspace.origin)));
  Mount mount = TRY(look_at_source(scene, *workspace.value, workspace.origin));
  if (!mount.is_directory)
    return Error::plain(fmt::format("{}: {} is not a folder", workspace.origin, mount.source));
  return std::optional<Mount>(std::move(mount));
}

// A target in another mount lies in a folder of the host: it has to be there, of the same kind,
// with no link on the way that whoever writes to that folder could turn elsewhere.
Result<void> check_nested(const Scene& scene, const Mount& outer, const Mount& inner) {
  std::string place = outer.source + inner.target.substr(outer.target.size());
  std::string where = fmt::format("{}: the target {} lies in {} ({})", inner.origin, inner.target,
                                  outer.source, outer.origin);
  std::optional<FileIdentity> there = scene.files.look(place);
  if (!there)
    return Error::plain(where + ", where it does not exist",
                        fmt::format("make {} first, or mount outside of it", shell_quote(place)));
  if ((there->kind == FileIdentity::Kind::kDirectory) != inner.is_directory)
    return Error::plain(where + ", where it is of another kind",
                        "a folder goes on a folder, a file on a file");
  if (scene.files.canonical(place) != place)
    return Error::plain(where + ", where a link leads elsewhere", "mount on the link's target");
  return {};
}

const char* why_left_out(const std::string& cwd, const Scene& scene) {
  const Homes& homes = scene.homes;
  if (homes.reaches(cwd)) return cwd == "/" ? "is /" : "is a home folder or above one";
  if (keeps_secrets(cwd, homes)) return "is where programs keep keys and tokens";
  for (std::string_view place : {"/proc", "/sys", "/dev", "/etc", "/run", "/boot"})
    if (is_within(cwd, place)) return "belongs to the system";
  for (std::string_view place : {"/tmp", "/var", "/var/tmp"})
    if (cwd == place) return "is shared by everyone";
  if (is_of_record(scene, cwd)) return "is where caisson keeps its record";
  return nullptr;
}

}  // namespace

const Mount* mount_over(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* innermost = nullptr;
  for (const Mount& mount : mounts)
    if (is_within(path, mount.target) &&
        (!innermost || mount.target.size() > innermost->target.size()))
      innermost = &mount;
  return innermost;
}

bool is_visible(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* over = mount_over(mounts, path);
  return over ? over->source == over->target : is_system_path(path);
}

Result<std::vector<Way>> add_requested_mounts(const Scene& scene, Policy& policy) {
  std::vector<Way> ways;
  auto note_way = [&](const std::string& text, const Mount& mount) -> Result<void> {
    ways.push_back({TRY(absolute_source(scene, text, mount.origin)), mount.source, mount.origin});
    return {};
  };
  for (const MountRequest& request : scene.settings.mounts) {
    Mount mount = TRY(look_at_source(scene, request.source, request.origin));
    TRY(note_way(request.source, mount));
    TRY(add_mount(scene, policy, std::move(mount), request.target, request.access));
  }
  if (std::optional<Mount> mount = TRY(find_workspace(scene))) {
    TRY(note_way(*scene.settings.workspace.value, *mount));
    TRY(add_mount(scene, policy, std::move(*mount), std::string(kWorkspaceTarget),
                  Access::kReadWrite));
  }
  for (const auto& [path, origin] : scene.settings.allow_write) {
    Mount mount = TRY(look_at_source(scene, path, origin));
    TRY(note_way(path, mount));
    std::string target = mount.source;
    TRY(add_mount(scene, policy, std::move(mount), target, Access::kReadWrite));
  }
  return ways;
}

void add_current_folder(const Scene& scene, Policy& policy) {
  const std::string& cwd = scene.caller.cwd;
  std::optional<FileIdentity> found = cwd.empty() ? std::nullopt : scene.files.look_exactly(cwd);
  if (!found || found->kind != FileIdentity::Kind::kDirectory) {
    policy.notes.push_back("the current folder is gone or can't be reached: left out");
    return;
  }
  // Visible already, or covered on purpose: a second mount would take a grant of writing back.
  if (mount_over(policy.mounts, cwd) || is_system_path(cwd)) return;
  if (const char* why = why_left_out(cwd, scene)) {
    policy.notes.push_back(fmt::format("the current folder {} {}: left out; {}", printable(cwd),
                                       why,
                                       cwd == "/" ? "to see a folder: --mount DIR:DIR:ro"
                                                  : "to see it: --mount \"$PWD\":\"$PWD\":ro"));
    return;
  }
  const Setting<bool>& writable = scene.settings.write_current_folder;
  Access asked = writable.value.value_or(false) ? Access::kReadWrite : Access::kReadOnly;
  policy.mounts.push_back({.source = cwd,
                           .target = cwd,
                           .access = allowed_access(scene.settings, asked, writable.origin),
                           .origin = "the current folder",
                           .device = found->device,
                           .inode = found->inode,
                           .is_directory = true});
}

Result<void> order_mounts(const Scene& scene, Policy& policy) {
  std::ranges::stable_sort(policy.mounts, {}, &Mount::target);
  for (size_t i = 1; i < policy.mounts.size(); ++i) {
    const Mount &a = policy.mounts[i - 1], &b = policy.mounts[i];
    if (a.target == b.target)
      return Error::plain(fmt::format("two mounts on {}: {} ({}) and {} ({})", a.target, a.source,
                                      a.origin, b.source, b.origin),
                          "leave one out, or give it another target");
  }
  for (const Mount& inner : policy.mounts) {
    const Mount* outer = mount_over(policy.mounts, parent_of(inner.target));
    if (outer) TRY(check_nested(scene, *outer, inner));
  }
  return {};
}

// The folder that one run may write is where the next one finds its mounts: a link that was put
// there would have it show, or write, whatever it leads to (T03). What lies in that folder itself
// is no more than it has. A cell that runs meanwhile may turn the link between two looks: the one
// that the mount was found by has to end where this one does.
static Result<void> check_way(const Scene& scene, const Policy& policy, const Way& way) {
  LinkWalk walk = walk_links(way.path, scene.files);
  if (!walk.complete || walk.end() != way.end)
    return Error::plain(
        fmt::format("{}: {} was replaced while the policy was being made", way.origin, way.path),
        "somebody else changes that path; try again, or mount a folder that is yours alone");
  for (const Link& link : walk.links)
    for (const Mount& mount : policy.mounts) {
      bool turns = mount.access == Access::kReadWrite && link.path != mount.source &&
                   is_within(link.path, mount.source) && !is_within(way.end, mount.source);
      if (turns)
        return Error::plain(
            fmt::format("{}: {} leads over {}, a link in a folder that the cell may write ({})",
                        way.origin, way.path, link.path, mount.origin),
            fmt::format("name what it leads to, if you know the link for yours: {}",
                        shell_quote(way.end)));
    }
  return {};
}

Result<void> check_ways(const Scene& scene, const Policy& policy, const std::vector<Way>& ways) {
  bool writes =
      std::ranges::find(policy.mounts, Access::kReadWrite, &Mount::access) != policy.mounts.end();
  if (!writes || !control_enabled("mount-ways")) return {};
  for (const Way& way : ways) TRY(check_way(scene, policy, way));
  return {};
}

static bool is_folder_in_cell(const Scene& scene, const Policy& policy, const std::string& path) {
  constexpr std::array<std::string_view, 7> kOwn{"/",    "/tmp",  "/dev", "/dev/shm",
                                                 "/etc", "/proc", "/run"};
  if (std::ranges::find(kOwn, path) != kOwn.end()) return true;
  auto is_folder = [&](const std::string& place) {
    std::optional<FileIdentity> found = scene.files.look(place);
    return found && found->kind == FileIdentity::Kind::kDirectory;
  };
  if (const Mount* over = mount_over(policy.mounts, path))
    return is_folder(over->source + path.substr(over->target.size()));
  if (is_system_path(path)) return is_folder(path);
  return std::ranges::any_of(policy.mounts,
                             [&](const Mount& mount) { return is_within(mount.target, path); });
}

Result<void> choose_workdir(const Scene& scene, Policy& policy) {
  const std::string& cwd = scene.caller.cwd;
  const Setting<std::string>& asked = scene.settings.workdir;
  std::string origin = "default";
  if (scene.settings.workspace) {
    policy.workdir = kWorkspaceTarget;
    origin = scene.settings.workspace.origin;
  } else if (!cwd.empty() && (mount_over(policy.mounts, cwd) || is_system_path(cwd)) &&
             is_folder_in_cell(scene, policy, cwd)) {
    policy.workdir = cwd;
    origin = "the current folder";
  } else {
    policy.workdir = kPrivateFolder;
  }
  if (asked) {
    policy.workdir = TRY(clean_path(*asked.value, policy.workdir));
    origin = asked.origin;
    if (!is_folder_in_cell(scene, policy, policy.workdir))
      return Error::plain(fmt::format("{}: {} is not a folder of the cell", origin, policy.workdir),
                          "mount it, or choose a folder that is mounted");
  }
  policy.origins.emplace_back("filesystem.workdir", origin);
  return {};
}

}  // namespace caisson

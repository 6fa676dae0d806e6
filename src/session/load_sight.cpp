#include "session/load_sight.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"

namespace caisson::session {

namespace {

// Where cells are given folders by means that are not read here, a link anywhere but in the
// system's own folders may be one of theirs.
bool is_the_systems(std::string_view folder) {
  for (std::string_view one : {"/usr", "/etc", "/proc"})
    if (folder == one || folder.starts_with(fmt::format("{}/", one))) return true;
  return folder == "/" || folder == "/var";
}

// Of a file the folder that it lies in and those above; of a folder those above it.
Result<std::vector<FileIdentity>> folders_above(const Walked& way, const std::string& real_path,
                                                const struct stat& info) {
  if (way.folder && !S_ISDIR(info.st_mode)) return folders_from(way.folder.get());
  // Behind a link in /proc there is but the name that the kernel gives the thing.
  std::string above = real_path.substr(0, std::max<size_t>(1, real_path.rfind('/') + 1));
  UniqueFd folder{S_ISDIR(info.st_mode)
                      ? ::openat(way.end.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC)
                      : ::open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!folder) return std::vector<FileIdentity>();
  return folders_from(folder.get());
}

// What the kernel makes up while it is read: the environment of processes, the settings of devices.
bool is_of_the_kernel(int fd) {
  constexpr uint32_t kKinds[] = {
      PROC_SUPER_MAGIC, SYSFS_MAGIC,         DEBUGFS_MAGIC,        TRACEFS_MAGIC,
      SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC,  CGROUP2_SUPER_MAGIC,  BPF_FS_MAGIC,
      PSTOREFS_MAGIC,   EFIVARFS_MAGIC,      BINFMTFS_MAGIC,       SELINUX_MAGIC,
      SMACK_MAGIC,      DEVPTS_SUPER_MAGIC,  NSFS_MAGIC,           PIPEFS_MAGIC,
      SOCKFS_MAGIC,     ANON_INODE_FS_MAGIC, RDTGROUP_SUPER_MAGIC, 0x62656570 /* configfs */};
  struct statfs info;
  if (!control_enabled("session-load-kernel")) return false;
  if (::fstatfs(fd, &info) != 0) return true;
  return std::ranges::find(kKinds, static_cast<uint32_t>(info.f_type)) != std::end(kKinds);
}

}  // namespace

Result<UniqueFd> LoadSight::look_at(const std::string& path, struct stat& info) const {
  std::vector<const WrittenFolder*> turned_in;
  Walked way = TRY(follow(path, turned_in));
  if (::fstat(way.end.get(), &info) != 0) return Error::system("load " + printable(path));
  OpenedFile file{TRY(real_path_of(way.end.get())), identity_at(way.end.get(), ""), {}, path};
  file.folders = TRY(folders_above(way, file.real_path, info));
  TRY(judge(file));
  if (is_of_the_kernel(way.end.get()))
    return Error::plain(fmt::format("load {}: it is the kernel's, and no file", printable(path)));
  FoundPlace place{file.real_path, file.folders};
  place.folders.push_back(file.identity);
  for (const WrittenFolder* one : turned_in)
    if (!lies_in(place, *one) && control_enabled("session-load-links"))
      return Error::plain(
          fmt::format("load {}: a link in {}, where sessions write, leads out of it to {}",
                      printable(path), printable(one->path), printable(file.real_path)),
          "name the file itself, if that is meant");
  return std::move(way.end);
}

// What is refused has the same words whether it is there or not: those of the path that was asked
// for, if by its letters alone it is refused as well.
Result<void> LoadSight::judge(const OpenedFile& file) const {
  bool in_workspace = file.identity == workspace_ ||
                      std::ranges::find(file.folders, workspace_) != file.folders.end();
  Result<void> said = rules_.judge(file, in_workspace);
  if (!said) TRY(rules_.judge_absent(file.asked, {}, file.asked));
  return said;
}

// Of a name in a folder, or of the folder itself. A key may be a link to where somebody keeps it
// (stow, home-manager): where it ends is no folder of keys, so the link has to be judged.
Result<void> LoadSight::judge_on_way(const std::string& path, FoundPlace place,
                                     const std::string& name, FileIdentity identity) const {
  if (!control_enabled("session-load-way")) return {};
  if (!name.empty()) place.path += (place.path == "/" ? "" : "/") + name;
  return judge({std::move(place.path), identity, std::move(place.folders), path});
}

// By descriptors from name to name: what was judged is what is opened, whatever a cell puts in
// its place meanwhile. Nothing is opened but to look at: no device, and no FIFO waits.
Result<Walked> LoadSight::follow(const std::string& path,
                                 std::vector<const WrittenFolder*>& turned_in) const {
  // Folders that a link or a folder which may be read lies in: that they are there is no secret.
  // A link in what allowRead shows may lead up through what denyRead hides around it.
  std::vector<FileIdentity> seen;
  auto see = [&](const FoundPlace& place, const std::string& name,
                 FileIdentity identity) -> Result<void> {
    TRY(judge_on_way(path, place, name, identity));
    seen.insert(seen.end(), place.folders.begin(), place.folders.end());
    return {};
  };
  auto look = [&](int folder, Turn turn) -> Result<void> {
    if (turn == Turn::kName) return {};  // from a folder to what lies in it
    FoundPlace place = TRY(place_of(folder));
    FileIdentity itself = identity_at(folder, "");
    if (turn == Turn::kUp && std::ranges::find(seen, itself) == seen.end())
      TRY(see(place, "", itself));
    if (turn == Turn::kLink && written_.any && !is_the_systems(place.path))
      return Error::plain(fmt::format("load {}: a link in {}, where a session may write",
                                      printable(path), printable(place.path)),
                          "name the file itself, if that is meant");
    for (const WrittenFolder& one : written_.folders)
      if (lies_in(place, one)) turned_in.push_back(&one);
    return {};
  };
  auto look_at_link = [&](int folder, const std::string& name, FileIdentity link) -> Result<void> {
    return see(TRY(place_of(folder)), name, link);
  };
  Result<Walked> way = walk_as_far(path, look, look_at_link);
  if (way && way->end) return way;
  if (!way) {
    Error why = way.error();
    if (!why.what.starts_with("load ")) why.what = "load " + printable(path) + ": " + why.what;
    return why;
  }
  TRY(judge_absent(path, *way));
  return Error::from_errno("load " + printable(path), way->why);
}

// By its letters, and by the folder in which the way ended: links before that may lead into one
// that is denied. Nothing is looked up again: of links that a cell has made that could take
// seconds.
Result<void> LoadSight::judge_absent(const std::string& path, const Walked& way) const {
  TRY(rules_.judge_absent(path, {}, path));
  if (!way.folder) return {};
  FoundPlace place = TRY(place_of(way.folder.get()));
  // The first name is the one that an answer tells of. The rest may be a link's text, and long.
  std::string name = way.missing.substr(0, way.missing.find('/'));
  return rules_.judge_absent(place.path + "/" + name, std::move(place.folders), path);
}

}  // namespace caisson::session

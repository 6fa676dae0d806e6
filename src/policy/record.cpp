#include "policy/record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "policy/link_walk.h"

namespace caisson {

namespace {

constexpr const char* kOrigin = "caisson's record";

// With its links resolved. It need not be there yet: it is made before the cell is.
LinkWalk way_to_record(const Scene& scene) {
  if (scene.settings.record_folder.empty()) return {};
  return walk_links(scene.settings.record_folder, scene.files);
}

bool is_record(const std::string& path, const std::string& record) {
  return path == record || parent_of(path) == record;
}

Result<void> check_record_source(const Mount& mount, const LinkWalk& way) {
  if (is_record(mount.source, way.end()))
    return Error::plain(fmt::format("{}: {} is where caisson keeps its record of what ran, which "
                                    "no cell sees",
                                    mount.origin, mount.source),
                        "name another folder, or set XDG_STATE_HOME to another place");
  // A cell that can turn the link has the next record written where it likes.
  if (mount.access == Access::kReadOnly) return {};
  for (const Link& link : way.links)
    if (is_within(link.path, mount.source))
      return Error::plain(fmt::format("{}: the way to caisson's record leads over the link {}, "
                                      "which the cell could turn elsewhere",
                                      mount.origin, link.path),
                          "mount it read-only, or set XDG_STATE_HOME to a path without that link");
  return {};
}

// The part of the record's path that lies below what is mounted. A folder is known by what it is,
// too: a mount of the host's may show it under another name.
std::optional<std::string> below(const Mount& mount, const std::string& record,
                                 const HostFiles& files) {
  if (is_within(record, mount.source)) return record.substr(mount.source.size());
  if (!mount.is_directory) return std::nullopt;
  for (std::string above = record; above != "/"; above = parent_of(above)) {
    std::optional<FileIdentity> found = files.look(above);
    if (found && found->device == mount.device && found->inode == mount.inode)
      return record.substr(above.size());
  }
  return std::nullopt;
}

// It would lie in the empty folder, where no place for it can be made.
Result<void> check_below(const Policy& policy, const std::string& cover) {
  for (const Mount& inner : policy.mounts)
    if (is_within(inner.target, cover))
      return Error::plain(
          fmt::format("{}: the target {} lies in caisson's record, which no cell sees",
                      inner.origin, inner.target),
          "give it another target");
  return {};
}

}  // namespace

bool is_of_record(const Scene& scene, const std::string& path) {
  LinkWalk way = way_to_record(scene);
  return way.complete && is_record(path, way.end());
}

void hide_record(const Scene& scene, FileRules& rules) {
  const std::string& folder = scene.settings.record_folder;
  if (folder.empty() || rules.unlimited) return;
  if (is_within(folder, "/dev")) return;  // the cell has one of its own
  FilePattern record{
      .text = folder, .literal = true, .origin = kOrigin, .reason = "it tells what ran"};
  rules.deny_write.push_back(record);
  record.untold = true;
  rules.deny_read.push_back(record);
}

Result<void> cover_record(const Scene& scene, Policy& policy) {
  LinkWalk way = way_to_record(scene);
  if (!way.complete) return {};  // nor can the record be opened then, and nothing runs
  for (const Mount& mount : policy.mounts) {
    TRY(check_record_source(mount, way));
    std::optional<std::string> rest = below(mount, way.end(), scene.files);
    if (!rest) continue;
    std::string path = mount.target + *rest;
    if (mount_over(policy.mounts, path) != &mount) continue;  // another one hides it there
    TRY(check_below(policy, path));
    policy.covers.push_back({path, fmt::format("{}, in {}", kOrigin, mount.origin)});
  }
  return {};
}

}  // namespace caisson

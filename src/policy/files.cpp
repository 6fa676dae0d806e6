#include "policy/files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/control.h"
#include "base/text.h"
#include "policy/kept_ways.h"
#include "policy/kernel_mounts.h"
#include "policy/known_paths.h"
#include "policy/link_walk.h"
#include "policy/pattern_names.h"
#include "policy/places.h"
#include "policy/record.h"
#include "policy/units.h"

namespace caisson {

namespace {

constexpr size_t kMostPatterns = 1024, kMostPlaces = 512, kMostComponents = 48;
constexpr size_t kMostPatternBytes = 4095;
constexpr size_t kMostMountinfo = 1 << 20;

// What of the path is there, with its links resolved, and the rest as it was written.
std::string canonical_head(KnownPaths& paths, const Components& components, size_t count) {
  for (size_t there = count; there > 0; --there) {
    std::optional<std::string> found = paths.canonical(path_of(components, there));
    if (!found) continue;
    std::string path = *found == "/" ? "" : *found;
    for (size_t i = there; i < count; ++i) add_to_path(path, components[i]);
    return path.empty() ? "/" : path;
  }
  return path_of(components, count);
}

class FileResolver {
 public:
  FileResolver(const Scene& scene, Policy& policy)
      : files_(scene.files), paths_(files_), policy_(policy), rules_(policy.file_rules) {}

  Result<void> run() {
    for (auto* list :
         {&rules_.deny_read, &rules_.allow_read, &rules_.allow_write, &rules_.deny_write})
      TRY(check(*list));
    TRY(check_own_processes());
    name_everything();
    find_ends_of_allowed();
    for (auto* list : {&rules_.allow_read, &rules_.allow_write}) leave_out_led(*list);
    if (!rules_.unlimited) {
      writable_places();
      literal_places(rules_.deny_write, FilePlaceKind::kReadOnly);
      literal_places(rules_.deny_read, FilePlaceKind::kHidden);
      literal_places(rules_.allow_read, FilePlaceKind::kShown);
    }
    leave_own_devices();
    show_ends_of_own_files();
    kernel_places();
    private_places();
    resolve_sockets();
    std::vector<FilePattern> ways = ways_in_writable();
    std::vector<FilePattern> allowed = rules_.allow_read;
    allowed.insert(allowed.end(), rules_.allow_write.begin(), rules_.allow_write.end());
    for (auto* list : {&rules_.deny_read, &rules_.allow_read, &rules_.deny_write})
      *list = resolved(*list);
    rules_.deny_write.insert(rules_.deny_write.end(), ways.begin(), ways.end());
    keep_what_counts();
    TRY(check_something_is_shown());
    links_to(allowed);
    choose_workdir();
    if (rules_.places.size() > kMostPlaces)
      return Error::plain(fmt::format("the file rules need {} mounts, {} is the most",
                                      rules_.places.size(), kMostPlaces),
                          "name a folder above them, or use a pattern with a wildcard");
    return {};
  }

  Result<void> run_patterns() {
    std::vector<FilePattern> ways = ways_in_writable();
    for (auto* list : {&rules_.deny_read, &rules_.allow_read, &rules_.deny_write}) {
      TRY(check(*list));
      *list = resolved(*list);
    }
    rules_.deny_write.insert(rules_.deny_write.end(), ways.begin(), ways.end());
    resolve_sockets();
    return {};
  }

 private:
  static Result<void> check(const std::vector<FilePattern>& list) {
    if (list.size() > kMostPatterns)
      return Error::plain(fmt::format("{}: more than {} patterns", list[0].origin, kMostPatterns));
    for (const FilePattern& pattern : list) {
      Components parts = components_of(pattern.text);
      bool climbs = std::ranges::find(parts, "..") != parts.end();
      if (!pattern.text.starts_with('/') || climbs || pattern.text.size() > kMostPatternBytes ||
          pattern.text.find('\0') != std::string::npos || parts.size() > kMostComponents)
        return Error::plain(
            fmt::format("{}: {} is no pattern for paths", pattern.origin, in_quotes(pattern.text)),
            fmt::format("it starts with /, has no .. and at most {} parts", kMostComponents));
    }
    return {};
  }

  // A cell can't do without its own, and those of the host are not in it.
  Result<void> check_own_processes() {
    for (const FilePattern& one : rules_.deny_read) {
      std::optional<std::string> end = paths_.canonical(one.text);
      bool of_process = end && end->starts_with("/proc/") && (*end)[6] >= '0' && (*end)[6] <= '9';
      if (end == "/proc" || of_process)
        return Error::plain(
            fmt::format("{}: {} is the cell's own: it can't be hidden", one.origin, one.text),
            "the host's processes are not in it; files of it are hidden by name, as /proc/cpuinfo");
    }
    return {};
  }

  void note(std::string text) { policy_.notes.push_back(std::move(text)); }

  // As a pattern it would match the root by no part of its name, and so less than anything.
  void name_everything() {
    for (FilePattern& pattern : rules_.deny_read)
      if (means_everything(pattern)) pattern.text = "/", pattern.literal = true;
  }

  // A link that a cell can turn is nobody's word but its own: followed, it would grant the next run
  // whatever the last one liked.
  void leave_out_led(std::vector<FilePattern>& list) {
    std::erase_if(list, [&](const FilePattern& one) {
      std::vector<std::string> names = leading_names(one, one.text);
      std::string head = path_of(Components(names.begin(), names.end()), names.size());
      std::optional<std::string> link = link_of_a_cell(one.text);
      if (!link) link = link_of_a_cell(head);
      if (link)
        note(
            fmt::format("{}: {} leads over {}, a link in a writable folder: skipped; name what it "
                        "leads to",
                        one.origin, printable(one.text), printable(*link)));
      return link.has_value();
    });
  }
  // The first one on the way, or the path itself where the way is another one already.
  std::optional<std::string> link_of_a_cell(const std::string& path) {
    Components parts = components_of(path);
    std::string plain = path_of(parts, parts.size());
    bool has_links = canonical_head(paths_, parts, parts.size()) != plain;
    if (!has_links || !control_enabled("file-led-links")) return std::nullopt;
    LinkWalk walk = walk_links(plain, files_);
    for (const Link& link : walk.links)
      if (lies_in_allowed(link.path)) return link.path;
    std::optional<std::string> end = paths_.canonical(plain);
    return end && walk.end() != *end ? std::optional(plain) : std::nullopt;
  }
  // As the rules are written: what they deny besides is for them to say.
  bool lies_in_allowed(const std::string& path) {
    auto holds = [&](const std::string& folder) {
      return path != folder && is_within(path, folder);
    };
    return std::ranges::any_of(ends_of_allowed_, holds) || lies_in_mount(path);
  }
  bool lies_in_mount(const std::string& path) const {
    return std::ranges::any_of(policy_.mounts, [&](const Mount& one) {
      return one.access == Access::kReadWrite && path != one.target && is_within(path, one.target);
    });
  }
  void find_ends_of_allowed() {
    for (const FilePattern& one : rules_.allow_write) {
      std::optional<std::string> end = paths_.canonical(writable_path(one));
      bool hidden = std::ranges::any_of(rules_.deny_read, [&](const FilePattern& denied) {
        return end && denied.text == *end;  // where both are named it is hidden: "/" may well be
      });
      if (end && !hidden) ends_of_allowed_.push_back(std::move(*end));
    }
  }

  // What a cell has there is its own, and works; the host's would be dead in it, or show the host.
  void leave_own_devices() {
    std::erase_if(candidates_, [&](const FilePlace& one) {
      bool own = is_within(one.path, "/proc") ||
                 (is_within(one.path, "/dev") && !is_within(one.path, "/dev/shm"));
      return own && one.kind != FilePlaceKind::kHidden;
    });
  }

  std::optional<FilePlace> place_at(const std::string& path, FilePlaceKind kind,
                                    const std::string& origin) {
    std::optional<std::string> source = paths_.canonical(path);
    std::optional<FileIdentity> found = source ? files_.look_exactly(*source) : std::nullopt;
    if (!found) return std::nullopt;
    return FilePlace{kind,          *source,      found->kind == FileIdentity::Kind::kDirectory,
                     found->device, found->inode, origin};
  }

  // As srt has it on Linux: "/**" at the end says nothing, other wildcards can't be granted.
  static std::string writable_path(const FilePattern& pattern) {
    std::string text = pattern.text;
    if (!pattern.literal && text.ends_with("/**")) text.resize(text.size() - 3);
    if (text.empty()) text = "/";
    return only_path(pattern, text).value_or(text);
  }
  void writable_places() {
    for (const FilePattern& pattern : rules_.allow_write) {
      std::string path = writable_path(pattern);
      std::optional<FilePlace> place = place_at(path, FilePlaceKind::kWritable, pattern.origin);
      if (place)
        candidates_.push_back(std::move(*place));
      else if (!pattern.literal && has_wildcard(path))
        note(fmt::format("{}: {} has a wildcard: skipped; name the folder above it", pattern.origin,
                         printable(pattern.text)));
      else
        note(
            fmt::format("{}: {} does not exist: skipped", pattern.origin, printable(pattern.text)));
    }
  }

  // /etc/resolv.conf is often a link to /run: whoever is shown the one is shown the other, and the
  // cell's own file lies over it.
  void show_ends_of_own_files() {
    auto hides_all = [](const FilePlace& one) {
      return one.kind == FilePlaceKind::kHidden && one.path == "/";
    };
    if (std::ranges::none_of(candidates_, hides_all)) return;
    for (const std::string path : {"/etc/hosts", "/etc/resolv.conf"}) {
      auto shows = [&](const FilePlace& one) {
        return one.kind != FilePlaceKind::kHidden && is_within(path, one.path);
      };
      auto above = std::ranges::find_if(candidates_, shows);
      if (above == candidates_.end()) continue;
      std::optional<FilePlace> end = place_at(path, FilePlaceKind::kShown, above->origin);
      if (end && end->path != path) candidates_.push_back(std::move(*end));
    }
  }

  // A pattern with wildcards is a literal too, when a thing of that very name is there.
  void literal_places(const std::vector<FilePattern>& list, FilePlaceKind kind) {
    for (const FilePattern& pattern : list) {
      add_place(pattern, pattern.text, kind);
      std::optional<std::string> path = only_path(pattern, pattern.text);
      if (path && *path != pattern.text) add_place(pattern, *path, kind);
    }
  }
  void add_place(const FilePattern& pattern, const std::string& path, FilePlaceKind kind) {
    std::optional<FilePlace> place = place_at(path, kind, pattern.origin);
    if (!place) return;
    place->untold = pattern.untold;
    candidates_.push_back(std::move(*place));
  }

  // What root writes there it writes to the kernel (sysfs, a cgroup, /proc/sys in a container's
  // tree), and a procfs that is not the cell's shows it the host's processes, its own warden among
  // them. No allowWrite means that.
  void kernel_places() {
    if (!rules_.host_view) return;
    std::optional<std::string> text = files_.read("/proc/self/mountinfo", kMostMountinfo);
    if (!text) return;
    for (const KernelMount& mount : kernel_mounts(*text)) {
      if (!mount.shows_processes && !meets_writable(mount.path)) continue;  // read-only as it is
      auto kind = mount.shows_processes ? FilePlaceKind::kHidden : FilePlaceKind::kReadOnly;
      std::optional<FilePlace> place = place_at(mount.path, kind, "the kernel's own");
      if (!place || place->path != mount.path) continue;
      std::erase_if(candidates_, [&](const FilePlace& one) {
        return one.kind == FilePlaceKind::kWritable && is_within(one.path, mount.path);
      });
      place->untold = true;
      candidates_.push_back(std::move(*place));
    }
  }

  // A host may have a dozen of these mounts, and each that is looked at costs four calls.
  bool meets_writable(const std::string& path) const {
    return rules_.unlimited || std::ranges::any_of(candidates_, [&](const FilePlace& one) {
             return one.kind == FilePlaceKind::kWritable &&
                    (is_within(one.path, path) || is_within(path, one.path));
           });
  }

  void private_places() {
    for (const std::string& path : rules_.make_folders) {
      std::optional<FilePlace> there = place_at(path, FilePlaceKind::kPrivate, "private");
      if (there && there->is_directory) {
        candidates_.push_back(std::move(*there));
        continue;
      }
      // A name can't be added to a read-only folder: the nearest one above that is meant for such
      // things becomes the cell's own.
      std::string above(parent_of(path));
      while (above.size() > 1 && !files_.look(above)) above = parent_of(above);
      if (above != "/tmp" && above != "/var/tmp") {
        note(fmt::format("{} does not exist and can't be made: skipped", printable(path)));
        continue;
      }
      if (std::optional<FilePlace> folder = place_at(above, FilePlaceKind::kPrivate, "private"))
        candidates_.push_back(std::move(*folder));
      candidates_.push_back({.kind = FilePlaceKind::kPrivate, .path = path, .origin = "private"});
      if (std::optional<FilePlace> here =
              place_at(policy_.workdir, FilePlaceKind::kShown, "the current folder"))
        candidates_.push_back(std::move(*here));
    }
  }

  void resolve_sockets() {
    for (std::string& path : rules_.sockets) {
      Components parts = components_of(path);
      if (!link_of_a_cell(path)) path = canonical_head(paths_, parts, parts.size());
    }
  }

  // Every pattern as the kernel will name what it covers. A literal that is a link covers both the
  // link's own place and what it leads to.
  std::vector<FilePattern> resolved(const std::vector<FilePattern>& list) {
    std::vector<FilePattern> out;
    for (const FilePattern& pattern : list) {
      Components parts = components_of(pattern.text);
      std::vector<std::string> names = leading_names(pattern, pattern.text);
      Components head(names.begin(), names.end());
      auto add = [&](std::string text, size_t literal) {
        FilePattern one = pattern;
        one.text = std::move(text);
        one.literal_head = literal;
        out.push_back(std::move(one));
      };
      if (head.size() < parts.size()) {
        std::string start = canonical_head(paths_, head, head.size());
        size_t count = components_of(start).size();
        if (start == "/") start.clear();
        for (size_t i = head.size(); i < parts.size(); ++i) add_to_path(start, parts[i]);
        add(start, count);
      } else if (!parts.empty()) {
        std::string folder = canonical_head(paths_, head, head.size() - 1);
        std::string own = join_path(folder, head.back());
        add(own, components_of(own).size());
        std::optional<std::string> target = paths_.canonical(path_of(head, head.size()));
        if (target && *target != own) add(*target, components_of(*target).size());
        for (std::string& link : links_of(list, path_of(head, head.size()), own, target)) {
          size_t count = components_of(link).size();
          add(std::move(link), count);
          // What lies behind it is for other rules to say.
          out.back().covers = FilePattern::Covers::kItself;
        }
      }
    }
    return out;
  }

  // Every other link on the way to what may not be written: whoever leads one elsewhere puts
  // another file in the place of the one that is protected. And the end of a way that leads to
  // nothing yet. What may not be read is known by its own path.
  std::vector<std::string> links_of(const std::vector<FilePattern>& list, const std::string& path,
                                    const std::string& own,
                                    const std::optional<std::string>& target) {
    if (&list != &rules_.deny_write) return {};
    if (own == path && (target ? *target == own : files_.name_at(own) != HostFiles::Name::kLink))
      return {};
    LinkWalk walk = walk_links(path, files_);
    std::vector<std::string> found;
    for (const Link& link : walk.links)
      if (link.path != own) found.push_back(link.path);
    if (!target && walk.complete && walk.end() != own) found.push_back(walk.end());
    return found;
  }

  // Elsewhere nothing moves: a writable place is a mount, and can't be renamed itself.
  std::vector<FilePattern> ways_in_writable() const {
    if (rules_.unlimited || !control_enabled("file-kept-ways")) return {};
    std::vector<FilePattern> ways =
        kept_ways(rules_.deny_read, policy_.network.details.masks, files_);
    std::erase_if(ways, [&](const FilePattern& one) { return !lies_in_writable(one.text); });
    return ways;
  }
  bool lies_in_writable(const std::string& path) const {
    auto holds = [&](const FilePlace& one) {
      return one.kind == FilePlaceKind::kWritable && path != one.path && is_within(path, one.path);
    };
    return std::ranges::any_of(candidates_, holds) || lies_in_mount(path);
  }

  // Innermost of those already kept.
  const FilePlace* cover_of(const std::string& path) const {
    const FilePlace* cover = nullptr;
    for (const FilePlace& place : rules_.places)
      if (place.path != path && is_within(path, place.path)) cover = &place;
    return cover;
  }
  // Whether the write rules alone allow `path`.
  bool may_write(const std::string& path) const {
    bool allowed = false;
    for (const FilePlace& place : candidates_) {
      if (!is_within(path, place.path)) continue;
      if (place.kind == FilePlaceKind::kReadOnly) return false;
      allowed = allowed || place.kind == FilePlaceKind::kWritable;
    }
    return allowed;
  }

  bool counts(FilePlace& place) const {
    const FilePlace* cover = cover_of(place.path);
    bool in_memory = cover && is_made(*cover);
    switch (place.kind) {
      case FilePlaceKind::kWritable:
        return !cover || in_memory || cover->kind == FilePlaceKind::kShown;
      case FilePlaceKind::kReadOnly:
        return cover ? cover->kind == FilePlaceKind::kWritable : rules_.unlimited;
      case FilePlaceKind::kHidden:
        return !in_memory;
      case FilePlaceKind::kShown:
        if (may_write(place.path)) place.kind = FilePlaceKind::kWritable;
        return in_memory;
      case FilePlaceKind::kPrivate:
        return true;
    }
    return false;
  }

  // Ordered by path, so that a folder comes before what lies in it; of two on one path the
  // stricter.
  void keep_what_counts() {
    auto strictness = [](FilePlaceKind kind) {
      constexpr FilePlaceKind kOrder[] = {FilePlaceKind::kHidden, FilePlaceKind::kPrivate,
                                          FilePlaceKind::kReadOnly, FilePlaceKind::kWritable,
                                          FilePlaceKind::kShown};
      return std::ranges::find(kOrder, kind) - kOrder;
    };
    std::ranges::stable_sort(candidates_, [&](const FilePlace& a, const FilePlace& b) {
      return a.path != b.path ? a.path < b.path : strictness(a.kind) < strictness(b.kind);
    });
    for (FilePlace& place : candidates_) {
      if (!rules_.places.empty() && rules_.places.back().path == place.path) continue;
      FilePlace one = place;
      if (counts(one)) rules_.places.push_back(std::move(one));
    }
  }

  // A cell that is made all the same would tell nobody why no program is found in it.
  Result<void> check_something_is_shown() const {
    const std::vector<FilePlace>& places = rules_.places;
    if (places.empty() || places[0].path != "/" || places[0].kind != FilePlaceKind::kHidden)
      return {};
    bool shows = std::ranges::any_of(places, [](const FilePlace& one) {
      return one.kind == FilePlaceKind::kShown || one.kind == FilePlaceKind::kWritable;
    });
    if (shows) return {};
    return Error::plain(
        fmt::format("{} hides every file, and nothing is shown: no command can run",
                    places[0].origin),
        "name in allowRead what it needs: /usr, /bin, /lib, /lib64, /etc, the current folder");
  }

  // Whoever names /bin in allowRead means programs to be found there, though it is a link.
  void links_to(const std::vector<FilePattern>& allowed) {
    for (const FilePattern& pattern : allowed)
      if (std::optional<std::string> path = only_path(pattern, pattern.text))
        if (paths_.canonical(*path).value_or(*path) != *path)
          for (const Link& link : walk_links(*path, files_).links) show_link(link, pattern);
  }
  void show_link(Link link, const FilePattern& pattern) {
    const FilePlace* cover = cover_of(link.path);
    bool known =
        std::ranges::any_of(policy_.links, [&](const Link& one) { return one.path == link.path; });
    if (known || !cover || !is_made(*cover)) return;
    link.origin = pattern.origin;
    policy_.links.push_back(std::move(link));
  }

  static bool is_made(const FilePlace& place) {
    return place.kind == FilePlaceKind::kHidden || place.kind == FilePlaceKind::kPrivate;
  }

  // In what is hidden there are no folders but those that lead to what is shown.
  void choose_workdir() {
    std::string& folder = policy_.workdir;
    const FilePlace* cover = cover_of(folder);
    if (!cover || !is_made(*cover)) return;
    auto is_there = [&] {
      return std::ranges::any_of(rules_.places,
                                 [&](const FilePlace& one) { return is_within(one.path, folder); });
    };
    std::string before = folder;
    while (!is_there()) folder = parent_of(folder);
    if (folder != before)
      note(fmt::format("{} hides the current folder: the command starts in {}", cover->origin,
                       printable(folder)));
  }

  const HostFiles& files_;
  KnownPaths paths_;
  Policy& policy_;
  FileRules& rules_;
  std::vector<FilePlace> candidates_;
  std::vector<std::string> ends_of_allowed_;  // of the ways, before any was left out
};

}  // namespace

bool has_wildcard(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

size_t literal_components(const FilePattern& pattern) {
  Components parts = components_of(pattern.text);
  if (pattern.literal) return parts.size();
  auto first = std::ranges::find_if(parts, has_wildcard);
  return static_cast<size_t>(first - parts.begin());
}

Result<void> resolve_file_patterns(const Scene& scene, Policy& policy) {
  policy.file_rules = scene.settings.file_rules;
  return FileResolver(scene, policy).run_patterns();
}

Result<void> resolve_files(const Scene& scene, Policy& policy) {
  policy.file_rules = scene.settings.file_rules;
  hide_record(scene, policy.file_rules);
  for (const auto& [text, origin] : scene.settings.sockets) {
    if (!text.starts_with('/'))
      return Error::plain(fmt::format("{}: {} is not an absolute path", origin, in_quotes(text)));
    policy.file_rules.sockets.push_back(text);
  }
  const std::string& cwd = scene.caller.cwd;
  policy.workdir = cwd.empty() ? "/" : cwd;
  policy.origins.emplace_back("filesystem.workdir", "the current folder");
  return FileResolver(scene, policy).run();
}

}  // namespace caisson

#include "cli/session_roots.h"

#include <sys/stat.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "cli/hidden_parts.h"
#include "cli/session_policy.h"
#include "policy/files.h"
#include "policy/places.h"
#include "session/path_walk.h"

namespace caisson {

namespace {

using session::WrittenFolder;

constexpr const char* kWorkspace = "/workspace";

// A name of the policy that is looked up at every start.
struct Root {
  std::string said;  // "--mount /w/data"
  std::string path;
  bool is_written = false;
  bool is_read = false;  // by the host: what stands in it counts, too, and not only where it is
  bool is_guarded = false, is_at_own_path = false;
  std::string inside;  // where a cell has it; "": nowhere
};

class Roots {
 public:
  explicit Roots(Caller caller) : caller_(std::move(caller)) {}

  Root& add(std::string_view said, const std::string& path, Access access) {
    bool writes = access == Access::kReadWrite;
    return all_.emplace_back(
        Root{fmt::format("{} {}", said, printable(path)), whole(path), writes, false});
  }
  void add_read(std::string_view said, const std::string& path, bool is_guarded = false) {
    if (path.empty()) return;
    Root& root = add(said, path, Access::kReadOnly);
    root.is_read = true;
    root.is_guarded = is_guarded;
  }
  std::vector<Root> take() { return std::move(all_); }

 private:
  // As exec reads it.
  std::string whole(const std::string& path) const {
    if (path == "~" || path.starts_with("~/")) return caller_.home + path.substr(1);
    return path.starts_with('/') ? path : join_path(caller_.cwd, path);
  }

  Caller caller_;
  std::vector<Root> all_;
};

// The part of a pattern that is a path.
std::string literal_head_of(const FilePattern& pattern) {
  std::string head;
  size_t left = literal_components(pattern);
  for (std::string_view name : split(pattern.text, '/')) {
    if (name.empty() || name == ".") continue;
    if (left-- == 0) break;
    head += fmt::format("/{}", name);
  }
  return head.empty() ? "/" : head;
}

// The host's tree instead of a small root: mounts are of no account there.
void add_host_view(const FileRules& rules, Roots& roots) {
  if (rules.unlimited) roots.add("the policy writes", "/", Access::kReadWrite);
  for (const FilePattern& one : rules.allow_write)
    roots.add(one.origin, literal_head_of(one), Access::kReadWrite);
  for (const FilePattern& one : rules.allow_read)
    roots.add(one.origin, literal_head_of(one), Access::kReadOnly);
  for (const std::string& one : rules.sockets) roots.add("the socket", one, Access::kReadOnly);
}

void add_mount_roots(const Settings& settings, Roots& roots) {
  // As a flag it is the last word; what a file says, a flag may lift for its own mount.
  const Setting<bool>& read_only = settings.read_only;
  bool none = read_only.value.value_or(false) && read_only.origin.starts_with("--");
  Access most = none ? Access::kReadOnly : Access::kReadWrite;
  for (const MountRequest& one : settings.mounts) {
    Root& root = roots.add(one.origin, one.source, std::min(one.access, most));
    root.is_at_own_path = one.source == one.target;
    root.inside = one.target;
  }
  if (settings.workspace)
    roots.add(settings.workspace.origin, *settings.workspace.value, most).inside = kWorkspace;
  for (const auto& [path, origin] : settings.allow_write) {
    Root& root = roots.add(origin, path, most);
    root.inside = root.path;
  }
}

// A link in the place of a secret would have the gateway send the file that it leads to.
void add_network_roots(const Settings& settings, Roots& roots) {
  for (const auto& [path, origin] : settings.sockets) roots.add(origin, path, Access::kReadOnly);
  for (const auto& [spec, origin] : settings.secrets)
    if (spec.source == SecretSource::kFile) roots.add_read(origin, spec.from);
  const NetworkDetails& details = settings.network_details;
  for (const MaskSpec& one : details.masks)
    if (one.source == SecretSource::kFile) roots.add_read("the credential", one.from);
  if (details.mitm) roots.add_read("the proxy's socket", details.mitm->socket_path);
  if (!details.end_tls) return;
  roots.add_read("the certificate", details.end_tls->certificate_path);
  roots.add_read("the key", details.end_tls->key_path);
  for (const std::string& one : details.end_tls->extra_ca_paths) roots.add_read("the CA", one);
}

// The warden in each cell lets nobody write what a rule denies, nor move it away, nor a folder
// above it. srt's own file is among it, and often lies in the project. It knows a file by its path:
// under another one, as in a workspace, it is as any other.
bool is_guarded(const std::string& path, const FileRules& rules) {
  return std::ranges::any_of(rules.deny_write, [&](const FilePattern& one) {
    return one.literal && one.text == path && one.covers == FilePattern::Covers::kTree &&
           !one.only_in_older_folder;
  });
}

void add_policy(const SessionPolicy& policy, Roots& roots) {
  const Settings& settings = policy.settings;
  roots.add_read("--policy", policy.flags.policy_file);
  roots.add_read("--settings", policy.flags.settings_file,
                 is_guarded(policy.flags.settings_file, settings.file_rules));
  if (settings.file_rules.host_view)
    add_host_view(settings.file_rules, roots);
  else
    add_mount_roots(settings, roots);
  add_network_roots(settings, roots);
}

// What is not there yet is told by its name.
Result<WrittenFolder> find(const Root& root) {
  auto walk_on = [](int, session::Turn) { return Result<void>(); };
  Result<session::Walked> way = session::walk_path(root.path, walk_on);
  if (!way && way.error().errnum != 0) return Error::from_errno(root.said, way.error().errnum);
  if (!way) return Error::plain(fmt::format("{}: {}", root.said, way.error().what));
  int last = way->end ? way->end.get() : way->folder.get();
  struct stat info {};
  if (::fstat(last, &info) != 0) return Error::system(root.said);
  std::string path = TRY(session::real_path_of(last));
  if (way->end) return WrittenFolder{std::move(path), {info.st_dev, info.st_ino}};
  return WrittenFolder{join_path(path == "/" ? "" : path, way->missing), {}};
}

struct Written {
  const Root* root;
  WrittenFolder folder;
};

Error in_the_way(const Root& inner, const Root& outer) {
  return Error::plain(
      fmt::format("{} lies in {}, where sessions write: one could put a link in its place",
                  inner.said, outer.said),
      "leave one of them out, or name one that lies outside of the other");
}

// Not only where it ends: every name on the way is looked up in some folder.
Result<void> check_root(const Root& root, const std::vector<Written>& written) {
  auto counts = [&](const Written& one) { return !root.is_guarded || !one.root->is_at_own_path; };
  auto look = [&](int folder, session::Turn) -> Result<void> {
    session::FoundPlace place = TRY(session::place_of(folder));
    for (const Written& one : written)
      if (counts(one) && session::lies_in(place, one.folder)) return in_the_way(root, *one.root);
    return {};
  };
  Result<session::Walked> way = session::walk_path(root.path, look);
  if (!way && way.error().errnum != 0) return Error::from_errno(root.said, way.error().errnum);
  if (!way) return way.error();
  WrittenFolder end = TRY(find(root));
  for (const Written& one : written) {
    bool is_same = end.path == one.folder.path ||
                   (end.identity.inode != 0 && end.identity == one.folder.identity);
    if (!counts(one)) continue;
    if (is_same ? root.is_read : session::lies_in({end.path, {}}, one.folder))
      return in_the_way(root, *one.root);
  }
  return {};
}

// A way that can't be walked here, by a link of another user or by one in /proc, is walked by the
// kernel when the mount is made: what it shows is not known, so it is not shown beside what is
// hidden.
Result<void> check_hidden(const std::vector<Root>& roots, const Settings& settings,
                          HiddenBy which) {
  if (!hides_files(settings)) return {};
  std::vector<ShownPlace> shown;
  for (const Root& one : roots)
    if (!one.inside.empty()) shown.push_back({one.said, TRY(find(one)), one.inside});
  return check_hidden_parts(settings, shown, which);
}

}  // namespace

Result<void> check_shown_parts(const Settings& settings, const Caller& caller, HiddenBy which) {
  Roots roots(caller);
  add_mount_roots(settings, roots);
  return check_hidden(roots.take(), settings, which);
}

Result<std::vector<std::string>> check_roots(const SessionRoots& offered, const Caller& caller) {
  Caller as_exec = caller;
  as_exec.cwd = "/";  // where each cell's exec is started
  Roots roots(as_exec);
  for (const std::string& one : offered.workspaces)
    roots.add("--workspace", one, Access::kReadWrite).inside = kWorkspace;
  std::optional<SessionPolicy> policy = TRY(read_session_policy(offered.words, as_exec));
  if (policy) add_policy(*policy, roots);
  std::vector<Root> all = roots.take();
  if (policy) TRY(check_hidden(all, policy->settings, HiddenBy::kAny));
  std::vector<Written> written;
  std::vector<std::string> paths;
  for (const Root& one : all)
    if (one.is_written) written.push_back({&one, TRY(find(one))});
  for (const Root& one : all)
    if (!written.empty() && control_enabled("session-roots")) TRY(check_root(one, written));
  for (const Written& one : written) paths.push_back(one.folder.path);
  return paths;
}

}  // namespace caisson

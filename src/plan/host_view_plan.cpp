// The host view: the host's own tree at its own paths, read-only, with the places of the policy in
// it. The root being built holds what is the cell's own (devices, empty folders, private ones); the
// view stands in it at kViewFolder and becomes the root at last, when nothing else is left of it.
#include <fmt/format.h>

#include <algorithm>

#include "base/control.h"
#include "plan/root_plan.h"
#include "policy/places.h"

namespace caisson {

namespace {

class HostViewBuilder {
 public:
  HostViewBuilder(const Policy& policy, const HostFacts& facts, const CellIds& ids)
      : policy_(policy), rules_(policy.file_rules), facts_(facts), ids_(ids) {}

  std::vector<RootStep> build() {
    add(MakeDirectory{"/run"});  // stays empty: what masks a folder of /proc is a view of it
    add_devices(steps_);
    add(MakeDirectory{kViewFolder});
    if (hides_everything())
      empty_view();
    else
      add(BindHost{
          .source = "/",
          .target = kViewFolder,
          .flags = {.read_only = !writes_everywhere() && control_enabled("view-read-only")},
          .alone = true});
    proc();
    add(MakeDirectory{"/dev/shm", 01777});
    add(BindOwn{"/dev/shm"});
    add(PlaceOwn{"/dev", in_view("/dev"), {.read_only = true, .no_exec = true, .devices = true}});
    names_of_hosts();
    authorities();
    for (size_t i = hides_everything() ? 1 : 0; i < rules_.places.size(); ++i) place(i);
    cover_again();
    masked_files();
    return std::move(steps_);
  }

 private:
  template <typename Step>
  void add(Step step) {
    steps_.push_back(std::move(step));
  }
  static std::string in_view(const std::string& path) {
    return path == "/" ? kViewFolder : kViewFolder + path;
  }

  bool hides_everything() const {
    return !rules_.places.empty() && rules_.places[0].path == "/" &&
           rules_.places[0].kind == FilePlaceKind::kHidden && control_enabled("file-deny-read");
  }

  // Nothing of the host's at all, but places for what is the cell's own and for what is shown.
  void empty_view() {
    add(MakeDirectory{stash_of(0), 0555});
    for (const char* path : {"/proc", "/dev"}) mount_point(0, path, true);
    for (const std::string& path : own_files())
      if (made_cover(path) == 0) mount_point(0, path, false);
    fill(0);
    add(PlaceOwn{stash_of(0), in_view("/"), {.read_only = true, .no_exec = true}});
  }

  // Of the host's, but with content of the cell's own.
  std::vector<std::string> own_files() const {
    std::vector<std::string> files;
    if (!policy_.has(GrantKind::kHostNetwork)) files = {"/etc/hosts", "/etc/resolv.conf"};
    if (facts_.gateway && !facts_.gateway->ca_pem.empty())
      files.insert(files.end(), facts_.gateway->covered_bundles.begin(),
                   facts_.gateway->covered_bundles.end());
    return files;
  }

  bool writes_everywhere() const {
    if (rules_.unlimited) return true;
    return !rules_.places.empty() && rules_.places[0].path == "/" &&
           rules_.places[0].kind == FilePlaceKind::kWritable;
  }

  void proc() {
    if (!control_enabled("namespace-pid")) return;
    bool nested = policy_.has(GrantKind::kNestedNamespaces);
    add(MountProc{in_view("/proc"), !nested});
    if (!nested && control_enabled("proc-masks")) add_proc_masks(steps_, in_view("/proc"), ids_);
  }

  // As in every cell: a name is looked up by the gateway or not at all.
  void names_of_hosts() {
    if (policy_.has(GrantKind::kHostNetwork)) return;
    add(MakeDirectory{"/etc"});
    add(MakeFile{"/etc/hosts",
                 fmt::format("127.0.0.1 localhost {0}\n::1 localhost {0}\n", policy_.hostname)});
    bool asks = policy_.network.needs_gateway();
    add(MakeFile{"/etc/resolv.conf", asks ? "nameserver 127.0.0.1\n" : "# no network\n"});
    for (const char* path : {"/etc/hosts", "/etc/resolv.conf"}) cover(path, path);
  }

  void authorities() {
    if (!facts_.gateway || facts_.gateway->ca_pem.empty()) return;
    // /etc/caisson is not there to be mounted on. A host without any bundle to cover leaves the
    // cell's own /dev.
    if (facts_.gateway->covered_bundles.empty())
      return add(MakeFile{std::string(kBundleInDev), facts_.gateway->ca_bundle_pem});
    add(MakeDirectory{"/ca"});
    add(MakeFile{"/ca/ca-bundle.pem", facts_.gateway->ca_bundle_pem});
    for (const std::string& path : facts_.gateway->covered_bundles)
      cover(path, "/ca/ca-bundle.pem");
  }

  void cover(const std::string& path, const std::string& with) {
    covers_.push_back({path, with});
    add(covers_.back());
  }
  // A place that is the host's again has the host's files in it, /etc its /etc/hosts; or it is such
  // a file.
  void cover_again() {
    for (const CoverInView& one : covers_) {
      const FilePlace* above = innermost_above(one.path);
      bool shown = std::ranges::any_of(rules_.places, [&](const FilePlace& place) {
        return place.path == one.path && place.kind == FilePlaceKind::kShown;
      });
      if (shown || (above && above->path != "/" && !is_made(*above))) add(one);
    }
  }

  // Over everything else: a file is masked wherever the rules of files show it.
  void masked_files() {
    if (!facts_.gateway || facts_.gateway->masked_files.empty()) return;
    add(MakeDirectory{"/masked"});
    for (size_t i = 0; i < facts_.gateway->masked_files.size(); ++i) {
      std::string own = fmt::format("/masked/{}", i);
      add(MakeFile{own, facts_.gateway->masked_files[i].content});
      add(CoverInView{facts_.gateway->masked_files[i].path, own});
    }
  }

  // The innermost place above, when it holds nothing of the host's: a mount point in it has to be
  // made.
  std::optional<size_t> made_cover(const std::string& path) const {
    const FilePlace* above = innermost_above(path);
    if (!above || !is_made(*above)) return std::nullopt;
    return static_cast<size_t>(above - rules_.places.data());
  }
  const FilePlace* innermost_above(const std::string& path) const {
    const FilePlace* found = nullptr;
    for (const FilePlace& place : rules_.places)  // parents come first
      if (place.path != path && is_within(path, place.path)) found = &place;
    return found;
  }
  static bool is_made(const FilePlace& place) {
    return place.kind == FilePlaceKind::kHidden || place.kind == FilePlaceKind::kPrivate;
  }

  static std::string stash_of(size_t index) { return fmt::format("/own{}", index); }

  // In the stash, before it is shown in the view: every folder from the cover down to `path`.
  void mount_point(size_t cover, const std::string& path, bool is_directory) {
    std::string whole = in_stash(cover, path);
    if (is_directory)
      make_once(MakeDirectory{whole});
    else
      make_once(MakeFile{whole, ""});
  }
  // The path in the stash, with the folders above it.
  std::string in_stash(size_t cover, const std::string& path) {
    const std::string& top = rules_.places[cover].path;
    std::string rest = top == "/" ? path : path.substr(top.size());
    for (size_t at = rest.find('/', 1); at != std::string::npos; at = rest.find('/', at + 1))
      make_once(MakeDirectory{stash_of(cover) + rest.substr(0, at)});
    return stash_of(cover) + rest;
  }
  template <typename Step>
  void make_once(Step step) {
    for (const std::string& one : made_)
      if (one == step.path) return;
    made_.push_back(step.path);
    add(std::move(step));
  }

  void bind(const FilePlace& place, bool read_only) {
    add(BindHost{.source = place.path,
                 .target = in_view(place.path),
                 .flags = {.read_only = read_only},
                 .device = place.device,
                 .inode = place.inode,
                 .below_user_mount = true});
  }

  void place(size_t index) {
    const FilePlace& place = rules_.places[index];
    switch (place.kind) {
      case FilePlaceKind::kWritable:
        if (place.path != "/") bind(place, false);
        return;
      case FilePlaceKind::kReadOnly:
        if (control_enabled("file-deny-write")) bind(place, true);
        return;
      case FilePlaceKind::kShown:
        return bind(place, true);
      case FilePlaceKind::kHidden:
        if (control_enabled("file-deny-read")) own(index, {.read_only = true, .no_exec = true});
        return;
      case FilePlaceKind::kPrivate:
        return own(index, {});
    }
  }

  // An empty thing of the cell's own, with the mount points of what lies in it.
  void own(size_t index, MountFlags flags) {
    const FilePlace& place = rules_.places[index];
    bool is_private = place.kind == FilePlaceKind::kPrivate;
    if (place.is_directory)
      add(MakeDirectory{stash_of(index), is_private ? 01777u : 0555u});
    else
      add(MakeFile{stash_of(index), "", 0});
    fill(index);
    add(PlaceOwn{stash_of(index), in_view(place.path), flags});
  }
  void fill(size_t index) {
    for (const FilePlace& inner : rules_.places)
      if (made_cover(inner.path) == index) mount_point(index, inner.path, inner.is_directory);
    for (const Link& link : policy_.links)
      if (made_cover(link.path) == index)
        make_once(MakeLink{in_stash(index, link.path), link.target});
  }

  const Policy& policy_;
  const FileRules& rules_;
  const HostFacts& facts_;
  CellIds ids_;
  std::vector<RootStep> steps_;
  std::vector<std::string> made_;
  std::vector<CoverInView> covers_;
};

}  // namespace

std::vector<RootStep> plan_host_view(const Policy& policy, const HostFacts& facts,
                                     const CellIds& ids) {
  return HostViewBuilder(policy, facts, ids).build();
}

}  // namespace caisson

#include "host/cgroup_probe.h"

#include <stdlib.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "host/cgroup_tree.h"

namespace caisson {

namespace {

constexpr std::array<const char*, 3> kControllers = {"memory", "pids", "cpu"};

std::string parent_cgroup_of(const std::string& path) { return path.substr(0, path.rfind('/')); }
std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

class Probe {
 public:
  explicit Probe(const CgroupView& view) : view_(view), tree_(view) {}

  CgroupFacts run() {
    own_ = parse_own_cgroups(tree_.read("/proc/self/cgroup"));
    bool any_v1 = false;
    for (const char* controller : kControllers) any_v1 |= own_.path_of(controller) != nullptr;
    if (any_v1)
      look_at_v1();
    else if (const std::string* path = own_.unified_path())
      look_at_v2(*path);
    else
      facts_.why_not = "this kernel has no cgroups, or /proc is hidden";
    if (facts_.slots.empty() && facts_.version == CgroupFacts::Version::kV2) look_for_systemd();
    return std::move(facts_);
  }

 private:
  void blame(std::string reason) {
    if (facts_.why_not.empty()) facts_.why_not = std::move(reason);
  }
  std::string not_writable(const std::string& directory) const {
    return directory + " is not writable by uid " + std::to_string(view_.uid);
  }

  // v1: every controller has its own hierarchy, and a parent may hold processes and children.
  void look_at_v1() {
    for (const char* controller : kControllers) {
      const std::string* path = own_.path_of(controller);
      if (!path) {
        blame(std::string("the kernel does not offer the ") + controller + " controller");
        continue;
      }
      CgroupTree::Place place = tree_.find_v1(controller, *path);
      if (place.own.empty()) {
        blame(std::string("the ") + controller + " cgroup hierarchy is not mounted");
        continue;
      }
      facts_.version = CgroupFacts::Version::kV1;
      if (tree_.writable(place.own))
        facts_.slots.push_back({controller, std::move(place.own)});
      else
        blame(not_writable(place.own));
    }
  }

  void look_at_v2(const std::string& path) {
    CgroupTree::Place place = tree_.find_v2(path);
    if (place.own.empty()) return blame("no cgroup file system is mounted");
    facts_.version = CgroupFacts::Version::kV2;
    if (try_own(place) || try_parent(place) || try_top(place))
      facts_.why_not.clear();
    else
      blame_missing(place);
  }

  // The top of the real hierarchy has no cgroup.type; the top of a namespace has one.
  bool is_real_top(const CgroupTree::Place& place) const {
    return !tree_.exists(place.mount + "/cgroup.type");
  }

  // Below a folder, a cell's cgroup needs: mkdir there, and leave to move a process from here to
  // there, which the kernel asks of the cgroup.procs of the nearest common ancestor (cgroups(7)).
  bool can_hold_cells(const std::string& directory) const {
    return tree_.writable(directory) && tree_.writable(directory + "/cgroup.procs");
  }

  // Takes `directory` when it gives more controllers than what was found so far; true when all.
  bool take(const std::string& directory, std::string_view controllers) {
    std::vector<CgroupSlot> slots;
    for (const char* controller : kControllers)
      if (has_word(trim(controllers), ' ', controller)) slots.push_back({controller, directory});
    if (slots.size() > facts_.slots.size()) facts_.slots = std::move(slots);
    return facts_.slots.size() == kControllers.size();
  }

  // (1) Our own cgroup, when it is delegated to us and nobody else lives in it: a cgroup other than
  // the real top can't hand out controllers while it holds processes, so the launcher steps aside
  // into a leaf first. There, it makes further cells beside that leaf.
  bool try_own(const CgroupTree::Place& place) {
    if (place.own == place.mount && is_real_top(place)) return false;
    if (last_name(place.own).starts_with("caisson-supervisor-")) return false;
    if (!can_hold_cells(place.own)) {
      blame(place.own + " is not delegated to uid " + std::to_string(view_.uid));
      return false;
    }
    if (!tree_.writable(place.own + "/cgroup.subtree_control")) return false;
    if (!alone_in(place.own)) {
      blame("other processes live in " + place.own);
      return false;
    }
    return take(place.own, tree_.read(place.own + "/cgroup.controllers"));
  }

  bool alone_in(const std::string& directory) const {
    std::string members = tree_.read(directory + "/cgroup.procs");
    for (std::string_view line : split(members, '\n')) {
      pid_t pid = -1;
      if (line.empty()) continue;
      std::from_chars(line.data(), line.data() + line.size(), pid);
      if (pid != view_.pid) return false;
    }
    return true;
  }

  // (2) The parent of our own cgroup, when it hands out controllers already.
  bool try_parent(const CgroupTree::Place& place) {
    if (place.own == place.mount) return false;
    std::string parent = parent_cgroup_of(place.own);
    if (!can_hold_cells(parent)) return false;
    return take(parent, tree_.read(parent + "/cgroup.subtree_control"));
  }

  // (3) The top of the real hierarchy, which may hold processes and hand out controllers at once.
  bool try_top(const CgroupTree::Place& place) {
    if (!is_real_top(place) || !can_hold_cells(place.mount)) return false;
    return take(place.mount, tree_.read(place.mount + "/cgroup.controllers"));
  }

  void blame_missing(const CgroupTree::Place& place) {
    if (facts_.slots.empty()) {
      blame(not_writable(place.own));
      return;
    }
    facts_.why_not.clear();
    for (const char* controller : kControllers) {
      bool have = false;
      for (const CgroupSlot& slot : facts_.slots) have |= slot.controller == controller;
      if (!have)
        blame(std::string("the ") + controller + " controller is not enabled in " +
              facts_.slots[0].directory);
    }
  }

  void look_for_systemd() {
    std::string dir;
    if (view_.runtime_dir) {
      dir = *view_.runtime_dir;
    } else if (const char* set = ::getenv("XDG_RUNTIME_DIR")) {
      dir = set;
    }
    if (dir.empty() || dir[0] != '/') dir = "/run/user/" + std::to_string(view_.uid);
    if (!tree_.exists(dir + "/bus") && !tree_.exists(dir + "/systemd/private")) return;
    facts_.why_not += "; systemd's user manager can be asked for a scope of our own";
    facts_.user_manager = std::move(dir);
  }

  const CgroupView& view_;
  CgroupTree tree_;
  OwnCgroups own_;
  CgroupFacts facts_;
};

}  // namespace

CgroupFacts probe_cgroups(const CgroupView& view) { return Probe(view).run(); }

}  // namespace caisson

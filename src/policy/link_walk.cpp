#include "policy/link_walk.h"

#include "policy/places.h"
#include "policy/units.h"

namespace caisson {

namespace {

constexpr size_t kMaxLinks = 40;  // the kernel's own bound (path_resolution(7))

// Takes the first name off `rest`.
std::string take_name(std::string& rest) {
  size_t start = rest.find_first_not_of('/');
  if (start == std::string::npos) return rest.clear(), std::string();
  size_t end = std::min(rest.find('/', start), rest.size());
  std::string name = rest.substr(start, end - start);
  rest.erase(0, end);
  return name;
}

void add_form(LinkWalk& walk, const std::string& path) {
  Result<std::string> clean = clean_path(path, "/");
  if (!clean || (!walk.forms.empty() && walk.end() == *clean)) return;
  walk.forms.push_back(*clean);
  walk.behind.push_back(walk.links.size());
}

}  // namespace

LinkWalk walk_links(const std::string& path, const HostFiles& files) {
  LinkWalk walk;
  add_form(walk, path);
  std::string done = "/", rest = path;  // `done` has no link in it, so that ".." is exact
  while (!rest.empty() && rest.size() <= 2 * kMaxPath) {
    std::string name = take_name(rest);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      done = parent_of(done);
      continue;
    }
    std::string here = join_path(done, name);
    std::optional<std::string> target = files.link_target(here);
    if (!target) {
      done = here;
      continue;
    }
    if (walk.links.size() >= kMaxLinks) return walk;
    walk.links.push_back({.path = here, .target = *target, .origin = ""});
    if (target->starts_with('/')) done = "/";
    rest = *target + "/" + rest;
    add_form(walk, join_path(done, rest));
  }
  walk.complete = rest.empty() && !walk.forms.empty();
  if (walk.complete) add_form(walk, done);
  return walk;
}

}  // namespace caisson

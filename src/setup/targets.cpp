#include "setup/plan.h"

namespace caisson::setup {

namespace {

const std::string& folder_of(Base base, const Surroundings& around) {
  switch (base) {
    case Base::kConfigHome:
      return around.config_home;
    case Base::kProject:
      return around.project;
    case Base::kRepository:
      return around.repository;
    case Base::kHome:
      break;
  }
  return around.home;
}

// A project may come from anybody: a link in it must not lead an edit to the person's own files.
bool is_of_project(Base base) { return base == Base::kProject || base == Base::kRepository; }

template <typename AnyPlace>
Target locate(const AnyPlace& place, const Surroundings& around) {
  Target target;
  auto variable = around.variables.find(std::string(place.override_variable));
  if (variable != around.variables.end() && variable->second.starts_with('/'))
    target.path = variable->second + "/" + std::string(place.override_path);
  else
    target.path = folder_of(place.base, around) + "/" + std::string(place.path);
  if (is_of_project(place.base)) target.within = folder_of(place.base, around);
  return target;
}

}  // namespace

std::vector<Target> targets(const Client& client, Scope scope, const Surroundings& around) {
  std::vector<Target> found;
  if (const Place* place = find_place(client, scope)) {
    Target target = locate(*place, around);
    target.format = place->format;
    if (scope == Scope::kLocal) target.container = {"projects", around.main_repository};
    target.container.emplace_back(place->servers);
    found.push_back(std::move(target));
  }
  for (const RulesPlace& place : client.rules) {
    if (place.scope != scope) continue;
    Target target = locate(place, around);
    target.kind = Target::Kind::kRules;
    found.push_back(std::move(target));
  }
  return found;
}

}  // namespace caisson::setup

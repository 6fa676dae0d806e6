// A path followed link by link, as the kernel would, with every stop on record.
#pragma once

#include <string>
#include <vector>

#include "policy/host_files.h"
#include "policy/policy.h"

namespace caisson {

struct LinkWalk {
  std::vector<std::string> forms;  // the path as given, then as it reads behind each link
  std::vector<size_t> behind;      // of each form: so many links are followed by then
  std::vector<Link> links;         // each link that was followed, at its own place
  bool complete = false;           // false: too many links, or a path that is too long

  const std::string& end() const { return forms.back(); }
};

LinkWalk walk_links(const std::string& path, const HostFiles&);

}  // namespace caisson

// Which route a request means. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "web/api.h"

namespace caisson::web {

struct Match {
  const Route* route = nullptr;  // null: none of that path and method
  bool path_is_known = false;    // under another method: 405, and `allow` lists them
  std::string allow;
  std::vector<std::string> words;  // of the pattern's {…}; behind "**", all the rest
};

Match match(std::span<const Route> routes, const http::Request& request);

}  // namespace caisson::web

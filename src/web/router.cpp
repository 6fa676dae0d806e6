#include "web/router.h"

#include "base/text.h"

namespace caisson::web {
namespace {

bool fits(std::string_view pattern, const std::vector<std::string>& segments,
          std::vector<std::string>& words) {
  words.clear();
  size_t at = 0;
  for (std::string_view part : split(pattern.substr(1), '/')) {
    if (part == "**") {
      words.insert(words.end(), segments.begin() + static_cast<ptrdiff_t>(at), segments.end());
      return at < segments.size();
    }
    if (at == segments.size()) return false;
    const std::string& segment = segments[at++];
    if (part.starts_with('{')) {
      if (segment.empty()) return false;
      words.push_back(segment);
    } else if (part != segment) {
      return false;
    }
  }
  return at == segments.size();
}

}  // namespace

Match match(std::span<const Route> routes, const http::Request& request) {
  Match result;
  std::vector<std::string> words;
  for (const Route& route : routes) {
    if (!fits(route.path, request.segments, words)) continue;
    result.path_is_known = true;
    if (route.method == request.method) {
      result.route = &route;
      result.words = std::move(words);
      return result;
    }
    result.allow += (result.allow.empty() ? "" : ", ") + std::string(route.method);
  }
  return result;
}

}  // namespace caisson::web

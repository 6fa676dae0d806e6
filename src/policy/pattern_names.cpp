#include "policy/pattern_names.h"

#include <algorithm>

namespace caisson {

Components components_of(std::string_view text) {
  Components out;
  out.reserve(16);
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('/', at), text.size());
    std::string_view one = text.substr(at, end - at);
    if (!one.empty() && one != ".") out.push_back(one);
    at = end + 1;
  }
  return out;
}

void add_to_path(std::string& path, std::string_view name) {
  path += '/';
  path += name;
}

std::string path_of(const Components& components, size_t count) {
  std::string path;
  for (size_t i = 0; i < count; ++i) add_to_path(path, components[i]);
  return path.empty() ? "/" : path;
}

// What a part of a pattern matches when it is one name: each wildcard in it is a set of one, as in
// "[[]slug]". Nothing: it may be several.
static std::optional<std::string> only_name(std::string_view part) {
  std::string name;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '*' || part[i] == '?') return std::nullopt;
    if (part[i] != '[') {
      name += part[i];
      continue;
    }
    bool one = i + 2 < part.size() && part[i + 2] == ']' &&
               std::string_view("!^]").find(part[i + 1]) == std::string_view::npos;
    if (!one) return std::nullopt;
    name += part[i + 1];
    i += 2;
  }
  return name;
}

std::vector<std::string> leading_names(const FilePattern& pattern, std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view part : components_of(text)) {
    std::optional<std::string> name = pattern.literal ? std::string(part) : only_name(part);
    if (!name) break;
    names.push_back(std::move(*name));
  }
  return names;
}

std::optional<std::string> only_path(const FilePattern& pattern, std::string_view text) {
  std::vector<std::string> names = leading_names(pattern, text);
  if (names.size() < components_of(text).size()) return std::nullopt;
  return path_of(Components(names.begin(), names.end()), names.size());
}

bool means_everything(const FilePattern& pattern) {
  Components parts = components_of(pattern.text);
  auto any_depth = [](std::string_view part) { return part == "**"; };
  return !pattern.literal && std::ranges::all_of(parts, any_depth);
}

}  // namespace caisson

#include "policy/known_paths.h"

namespace caisson {

namespace {

constexpr size_t kMostDepth = 64;

// Absolute, with one slash between names and none of "." and "..": then a name's folder is the text
// before it.
bool is_plain(const std::string& path) {
  if (!path.starts_with('/')) return false;
  for (size_t at = 0; at < path.size();) {
    size_t end = path.find('/', at + 1);
    if (end == path.npos) end = path.size();
    std::string_view name(path.data() + at + 1, end - at - 1);
    if (name.empty() || name == "." || name == "..") return false;
    at = end;
  }
  return true;
}

}  // namespace

std::optional<std::string> KnownPaths::canonical(const std::string& path) {
  return path != "/" && is_plain(path) ? look(path, 0) : files_.canonical(path);
}

std::optional<std::string> KnownPaths::look(const std::string& path, size_t depth) {
  if (path.empty()) return "";  // the root, before a name
  if (depth > kMostDepth) return files_.canonical(path);
  if (auto found = known_.find(path); found != known_.end()) return found->second;
  size_t slash = path.rfind('/');
  std::optional<std::string> answer = look(path.substr(0, slash), depth + 1);
  if (answer) {
    *answer = (*answer == "/" ? "" : *answer) + path.substr(slash);
    switch (files_.name_at(*answer)) {
      case HostFiles::Name::kPlain:
        break;
      case HostFiles::Name::kMissing:
        answer.reset();
        break;
      case HostFiles::Name::kLink:
        answer = files_.canonical(*answer);
    }
  }
  known_.emplace(path, answer);
  return answer;
}

}  // namespace caisson

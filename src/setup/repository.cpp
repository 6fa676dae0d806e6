#include "setup/repository.h"

#include <sys/stat.h>

#include "base/text.h"
#include "setup/store.h"

namespace caisson::setup {

namespace {

// In a linked worktree .git is a file: "gitdir: /main/.git/worktrees/name".
std::string main_of(const std::string& top) {
  Result<std::optional<std::string>> text = read_config(top + "/.git");
  if (!text || !*text || !(*text)->starts_with("gitdir: ")) return top;
  std::string_view folder = trim(std::string_view(**text).substr(8));
  size_t at = folder.find("/.git/worktrees/");
  if (at == std::string_view::npos || !folder.starts_with('/')) return top;
  return std::string(folder.substr(0, at));
}

}  // namespace

Repository find_repository(const std::string& folder) {
  std::string at = folder;
  for (;;) {
    struct stat status {};
    if (::lstat((at + "/.git").c_str(), &status) == 0)
      return {at, S_ISREG(status.st_mode) ? main_of(at) : at};
    size_t slash = at.rfind('/');
    if (slash == std::string::npos || at.size() <= 1) return {folder, folder};
    at.resize(slash == 0 ? 1 : slash);
    if (at == "/") return {folder, folder};
  }
}

}  // namespace caisson::setup

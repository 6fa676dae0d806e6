// The git repository around a folder, as far as Claude Code's keys depend on it.
#pragma once

#include <string>

namespace caisson::setup {

struct Repository {
  std::string top;   // the folder that holds .git; the folder itself when there is none
  std::string main;  // of a linked worktree, the top of the repository that it belongs to
};

Repository find_repository(const std::string& folder);

}  // namespace caisson::setup

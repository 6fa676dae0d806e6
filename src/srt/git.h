// What git makes of a folder: where its hooks and its configuration are, and whose folders it
// trusts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "policy/caller.h"
#include "policy/host_files.h"

namespace caisson::srt {

// `.git` of the current folder is a file in a worktree or a submodule, or a link: the folders that
// hold the repository itself. Empty when it is a folder or absent.
std::vector<std::string> git_folders_elsewhere(const std::string& cwd, const HostFiles& files);

// GIT_CONFIG_COUNT, GIT_CONFIG_KEY_n and GIT_CONFIG_VALUE_n that name the folders as safe, behind
// those that the caller has. None when the caller's count is 0: that is a wish for no such thing.
std::vector<std::pair<std::string, std::string>> safe_directory_variables(
    const std::vector<std::string>& folders, const Caller& caller);

}  // namespace caisson::srt

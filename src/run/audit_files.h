// The audit files as the host's own: opened so that nobody else can have put them there.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson {

// The folder at `path`, made with its missing parents (0700). Refuses one that is a link, is not
// the caller's own, or can be written by others.
Result<UniqueFd> open_own_folder(const std::string& path);

// The file `name` in it, made when missing (0600), open for reading and `extra_flags`. Refuses what
// is no regular file, is a link, is not the caller's own, or can be written by others.
Result<UniqueFd> open_own_file(int folder, const char* name, int extra_flags,
                               const std::string& shown_path);

}  // namespace caisson

// Work on the files of a session's workspace, which a confined server has no right to open.
#pragma once

#include <string>

#include "base/result.h"

namespace caisson::session {

enum class FileDeed : uint32_t { kLook = 1, kWrite, kRemove };

struct FileOrder {
  FileDeed deed{};
  std::string folder;  // the workspace, as of SessionInfo
  std::string path;    // "/a/b" below it; empty: the workspace itself
  std::string bytes;   // to write
};

struct FileAnswer {
  bool is_listing = false;  // then the bytes are JSON
  std::string bytes;
};

constexpr size_t kMostFileBytes = 64 << 20;

// By whoever knows how; the launcher has judged the folder.
using FileWork = Result<FileAnswer> (*)(const FileOrder&);

}  // namespace caisson::session

// Work on the files of a session's workspace, which a confined server has no right to open.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/task.h"

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

// The same, as it is done for the server: bytes are memory, and are copied a piece at a time.
struct FileJob {
  FileDeed deed{};
  std::string folder, path;
  UniqueFd bytes;  // to write; sealed
};
struct FileDone {
  bool is_listing = false;
  UniqueFd bytes;  // sealed
};

// By whoever knows how, in slices; the launcher has judged the folder, and what the bytes are.
using FileWork = Task<Result<FileDone>> (*)(Loop&, FileJob);

}  // namespace caisson::session

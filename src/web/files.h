// Files in and out of a session's workspace. The cell changes that folder while we look: every name
// is resolved beneath the folder's descriptor, through no link at all, and only plain files and
// folders are touched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/file_work.h"
#include "session/slices.h"

namespace caisson::web {

inline constexpr uint64_t kLargestFile = 64 << 20;
inline constexpr size_t kMostEntries = 10'000;

class Workspace {
 public:
  static Result<Workspace> open(const std::string& folder);

  // `parts`: the path below the workspace; empty is the workspace itself.
  using Parts = std::vector<std::string>;
  Result<bool> is_folder(const Parts& parts) const;
  // Whoever calls keeps the slices, which give others their turn, and this.
  Task<Result<UniqueFd>> list(session::Slices&, Parts parts) const;  // JSON, in sealed memory
  Task<Result<UniqueFd>> read(session::Slices&, Parts parts) const;  // the same, as it is
  // Makes missing folders; a file that is there is replaced as a whole.
  Task<Result<void>> write(session::Slices&, Parts parts, int bytes) const;
  Result<void> remove(const Parts& parts) const;  // a file, a link, or an empty folder

 private:
  explicit Workspace(UniqueFd folder) : folder_(std::move(folder)) {}
  Result<UniqueFd> open_beneath(const Parts& parts, int flags) const;
  Result<UniqueFd> open_file(const Parts& parts) const;
  Result<UniqueFd> open_parent(const Parts& parts, bool make) const;

  UniqueFd folder_;
};

// All of it as a launcher does it for a server that may open no file. A listing is the JSON that a
// client gets.
Task<Result<session::FileDone>> work_on_file(Loop& loop, session::FileJob job);
// "/a/b", in a FileOrder, of a, b.
std::string path_of(const Workspace::Parts& parts);

}  // namespace caisson::web

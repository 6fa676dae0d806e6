// Files in and out of a session's workspace. The cell changes that folder while we look: every name
// is resolved beneath the folder's descriptor, through no link at all, and only plain files and
// folders are touched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/file_work.h"

namespace caisson::web {

inline constexpr uint64_t kLargestFile = 64 << 20;
inline constexpr size_t kMostEntries = 10'000;

class Workspace {
 public:
  static Result<Workspace> open(const std::string& folder);

  // `parts`: the path below the workspace; empty is the workspace itself.
  using Parts = std::vector<std::string>;
  Result<bool> is_folder(const Parts& parts) const;
  Result<boost::json::array> list(const Parts& parts) const;
  Result<std::string> read(const Parts& parts) const;
  // Makes missing folders; a file that is there is replaced as a whole.
  Result<void> write(const Parts& parts, std::string_view bytes) const;
  Result<void> remove(const Parts& parts) const;  // a file, a link, or an empty folder

 private:
  explicit Workspace(UniqueFd folder) : folder_(std::move(folder)) {}
  Result<UniqueFd> open_beneath(const Parts& parts, int flags) const;
  Result<UniqueFd> open_parent(const Parts& parts, bool make) const;

  UniqueFd folder_;
};

// All of it as a launcher does it for a server that may open no file. A listing is the JSON that a
// client gets.
Result<session::FileAnswer> work_on_file(const session::FileOrder& order);
// "/a/b", in a FileOrder, of a, b.
std::string path_of(const Workspace::Parts& parts);

}  // namespace caisson::web

// Makes planned edits on the disk: whole files, by a new file and a rename, so that a client that
// reads meanwhile sees the old text or the new one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "setup/plan.h"

namespace caisson::setup {

// Where a file is once links are followed; the same path when it is not there yet. An error when
// that lies outside the folder that the target must stay in.
Result<std::string> resolve(const Target&);

Result<std::optional<std::string>> read_config(const std::string& path);

// Writes, makes or removes the file at `path`. An error, and nothing done, when the file is not as
// the plan saw it. Returns the folders that were made on the way, outermost first.
Result<std::vector<std::string>> apply_edit(const Edit&, const std::string& path);

// Receipts and backups: state_home/caisson/install, for its owner alone.
class Receipts {
 public:
  explicit Receipts(const std::string& state_home) : folder_(state_home + "/caisson/install") {}

  Result<std::optional<Receipt>> find(const Target&) const;
  Result<void> keep(const Receipt&) const;
  void drop(const Receipt&) const;
  std::string backup_path(const Receipt& receipt) const { return file(receipt, ".before"); }

 private:
  std::string file(const Receipt&, std::string_view suffix) const;
  std::string folder_;
};

}  // namespace caisson::setup

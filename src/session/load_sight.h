// LoadSight: what of the host a load may see. A path is followed by descriptors, and all that is on
// its way is judged.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/load_rules.h"
#include "session/path_walk.h"

namespace caisson::session {

class LoadSight {
 public:
  LoadSight(const LoadRules& rules, FileIdentity workspace, const WrittenPlaces& written)
      : rules_(rules), workspace_(workspace), written_(written) {}

  // O_PATH, and what it is; an error when it may not be seen, with the same words whether it is
  // there or not.
  Result<UniqueFd> look_at(const std::string& path, struct stat& info) const;

 private:
  Result<void> judge(const OpenedFile&) const;
  Result<void> judge_on_way(const std::string& path, FoundPlace, const std::string& name,
                            FileIdentity) const;
  Result<void> judge_absent(const std::string& path, const Walked&) const;
  Result<Walked> follow(const std::string& path,
                        std::vector<const WrittenFolder*>& turned_in) const;

  const LoadRules& rules_;
  FileIdentity workspace_;
  const WrittenPlaces& written_;
};

}  // namespace caisson::session

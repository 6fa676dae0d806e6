// Canonical paths of one moment, each folder looked at once: the rules for files name a dozen names
// in the same two folders, several times each.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "policy/host_files.h"

namespace caisson {

class KnownPaths {
 public:
  explicit KnownPaths(const HostFiles& files) : files_(files) {}
  // As HostFiles::canonical().
  std::optional<std::string> canonical(const std::string& path);

 private:
  std::optional<std::string> look(const std::string& path, size_t depth);

  const HostFiles& files_;
  std::unordered_map<std::string, std::optional<std::string>> known_;
};

}  // namespace caisson

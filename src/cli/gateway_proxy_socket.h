// The Unix socket of a proxy that a policy names, connected to on behalf of the gateway.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson {

// Held from the start, so that what a cell puts at its path later is not what is connected to. A
// proxy that is started anew has another socket, and the cell must be too.
class ProxySocket {
 public:
  static Result<ProxySocket> hold(const std::string& path);
  // None when it takes no connection now.
  UniqueFd connect() const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  UniqueFd place_;
};

}  // namespace caisson

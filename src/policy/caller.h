// Who asks, from where, with which environment: a value, so that tests can make one up.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

namespace caisson {

struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string user_name;  // from /etc/passwd, or the number
  std::string home;       // from /etc/passwd, or $HOME
  std::string cwd;        // canonical; empty if it is gone
  std::map<std::string, std::string> environment;

  std::string env(const std::string& name) const {
    auto it = environment.find(name);
    return it == environment.end() ? std::string() : it->second;
  }
};

}  // namespace caisson

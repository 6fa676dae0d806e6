// Hosts by pattern, without more to say about them than that they are in it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "rules/rule_tables.h"

namespace caisson {

class HostSet {
 public:
  // Patterns as in an allow rule; without a port every port is meant.
  static Result<HostSet> make(const std::vector<std::string>& patterns);
  bool covers(const Host& host, uint16_t port) const;

 private:
  HostTable<PortTable> table_;
};

}  // namespace caisson

// Where the next line of a chain goes, and what must be said first.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "run/audit_line.h"

namespace caisson {

struct AuditTail {
  AuditHead head;              // the entry to follow; head.end is the file's size
  std::string seal;            // "\n" if the file ends in the middle of a line
  boost::json::object report;  // an event to record first; empty if all is in order
};

// Both are called under the file's lock. A head that can't be read is nothing.
std::optional<AuditHead> read_audit_head(int head_file);
Result<AuditTail> find_audit_tail(int file, const std::optional<AuditHead>& head);

}  // namespace caisson

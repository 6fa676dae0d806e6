// What doctor found, for a person and for a program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/checks.h"

namespace caisson {

struct DoctorReport {
  Checks checks;
  std::optional<std::vector<std::string>> landlock_lacks;  // nothing: no such tier here

  bool ok() const { return enforced_in_full(checks); }
};

enum class Colour { kNever, kAlways };
std::string report_text(const DoctorReport&, Colour);
std::string report_json(const DoctorReport&);

}  // namespace caisson

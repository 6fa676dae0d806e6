// What a program was refused, as srt tells it: lines between <sandbox_violations> tags behind the
// program's own stderr, which is where an agent looks.
#pragma once

#include <string>
#include <vector>

#include "srt/settings.h"

namespace caisson::srt {

struct Violation {
  std::string rule, resource, hint;
};

// "deny read /etc/shadow (filesystem.denyRead[0]); hint: …". One line, whatever was asked for.
std::string violation_line(const Violation& violation);

// False for what ignoreViolations names for this command.
bool is_reported(const std::string& line, const std::string& command,
                 const std::vector<Ignored>& ignored);

// Empty without lines.
std::string violations_block(const std::vector<std::string>& lines, uint64_t left_out);

}  // namespace caisson::srt

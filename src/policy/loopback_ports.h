// Rules that name the host's own loopback. A cell has a loopback of its own, so nothing that a
// program sends to 127.0.0.1 comes to the gateway by itself: each port that is allowed there is
// listened on inside, and whoever comes is judged by the rules as anybody else.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rules/rules.h"

namespace caisson {

// Sorted, each once. What is denied as well is left to the cell's own programs.
std::vector<uint16_t> loopback_ports(const RuleTexts& rules);

// Every port of the loopback can't be listened on, and a rule that works for some programs only
// would be a riddle: an error that says what to write.
Result<void> check_loopback_rule(std::string_view text);

}  // namespace caisson

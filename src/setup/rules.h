// The routing rules: when a client should reach for the sandbox, and when not. They stand between
// two marks, so that they can be renewed and taken out of a file that holds other text.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson::setup {

std::string_view routing_rules();

// The text with the rules in it, at its end when they were nowhere.
Result<std::string> with_rules(std::string_view text);
Result<std::string> without_rules(std::string_view text);
bool has_rules(std::string_view text);

}  // namespace caisson::setup

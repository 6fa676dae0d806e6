// LiveRules between the supervisor and its gateway, as JSON.
#pragma once

#include <string>
#include <string_view>

#include "gateway/gateway.h"

namespace caisson {

std::string live_rules_json(const LiveRules& live);
// What isn't told stays at its default.
Result<LiveRules> parse_live_rules(std::string_view json);

}  // namespace caisson

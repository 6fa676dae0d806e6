// What the supervisor says while the cell runs.
#pragma once

#include <string>
#include <string_view>

#include "gateway/core.h"

namespace caisson {

// Serves the supervisor until it is gone or says that it is over; then stops the loop.
Task<> serve_control(Core& core, Socket control);

std::string usage_json(const Core& core);

}  // namespace caisson

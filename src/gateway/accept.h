// Connections accepted for ever, within the cell's cap.
#pragma once

#include <functional>

#include "gateway/core.h"

namespace caisson {

// Spawns `serve` for each. Beyond max_connections a client is reset, and that is told.
Task<> accept_all(Core& core, Socket listener, std::function<Task<>(Socket)> serve);

}  // namespace caisson

// Stops caisson at the one moment that a race would have to hit.
#pragma once

#include <functional>

#include "process.h"

namespace caisson::boundary {

// Runs `argv` and calls `meanwhile` when everything has been looked at and nothing been made: as it
// is about to enter clone3(2).
Outcome run_paused_before_clone(const Words& argv, const std::function<void()>& meanwhile);

}  // namespace caisson::boundary

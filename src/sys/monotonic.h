// The clock that limits and timings are kept by.
#pragma once

#include <stdint.h>
#include <time.h>

namespace caisson {

inline uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace caisson

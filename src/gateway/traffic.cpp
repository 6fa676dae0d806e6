#include "gateway/traffic.h"

#include "base/control.h"

namespace caisson {

bool Traffic::count(Way way, uint64_t bytes) {
  Counter& counter = way == Way::kUp ? up_ : down_;
  // A connection that was refused its bytes must not leave room for a smaller one.
  bool spent = counter.budget != 0 && bytes > counter.budget - counter.used;
  if (spent && control_enabled("gateway-budget")) {
    counter.used = counter.budget;
    return false;
  }
  counter.used += bytes;
  return true;
}

}  // namespace caisson

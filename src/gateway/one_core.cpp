#include "gateway/one_core.h"

namespace caisson {

// Where it can't be had (more cores than the set counts, a filter above ours) the bytes still flow.
void OneCore::hold() {
  if (holders_++ != 0 || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  int core = sched_getcpu();
  if (core < 0 || core >= CPU_SETSIZE) return;
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(core, &here);
  held_ = sched_setaffinity(0, sizeof here, &here) == 0;
}

void OneCore::release() {
  if (--holders_ != 0 || !held_) return;
  sched_setaffinity(0, sizeof before_, &before_);
  held_ = false;
}

}  // namespace caisson

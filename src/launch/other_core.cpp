#include "launch/other_core.h"

#include <sched.h>

namespace caisson {

// Taken off this core it is moved at once; allowed here again it stays where it is. Fails where
// there is no other, or where the set is too small to count them all: then it waits, and nothing is
// lost.
void begin_on_another_core(pid_t child) {
  cpu_set_t all;
  int core = ::sched_getcpu();
  if (core < 0 || core >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof all, &all) != 0) return;
  cpu_set_t others = all;
  CPU_CLR(static_cast<unsigned>(core), &others);
  if (::sched_setaffinity(child, sizeof others, &others) != 0) return;
  ::sched_setaffinity(child, sizeof all, &all);
}

OwnCore::OwnCore() {
  int core = ::sched_getcpu();
  if (core < 0 || core >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof before_, &before_) != 0)
    return;
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(static_cast<unsigned>(core), &here);
  held_ = ::sched_setaffinity(0, sizeof here, &here) == 0;
}

void OwnCore::leave() {
  if (held_) ::sched_setaffinity(0, sizeof before_, &before_);
  held_ = false;
}

}  // namespace caisson

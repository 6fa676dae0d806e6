// Puts a process that was just made on another core than its maker's.
#pragma once

#include <sys/types.h>

namespace caisson {

// The scheduler likes to leave it where it was made, behind its maker, who has work to do: a third
// of a millisecond with a core idle beside them. Where it may run is as before.
void begin_on_another_core(pid_t child);

}  // namespace caisson

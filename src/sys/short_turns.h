// Short turns at the processor: for a process that does little at a time and has others wait for
// it. System calls only: also for a process between clone and exec.
#pragma once

#include <sched.h>
#include <stdint.h>

#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson {

// The shortest that the kernel takes.
constexpr uint64_t kShortTurnNs = 100000;

// False for real-time and idle policies: they are the caller's own choice, and have no such turns.
inline bool read_turns(kernel::SchedulerAttributes& own) {
  return sys_call(SYS_sched_getattr, 0L, &own, long{sizeof own}, 0L) >= 0 &&
         (own.policy == SCHED_OTHER || own.policy == SCHED_BATCH);
}

// No libc call for it: glibc has none. Does nothing for 0.
inline bool take_turns_of(uint64_t ns) {
  kernel::SchedulerAttributes own{};
  if (ns == 0 || !read_turns(own)) return false;
  own.runtime = ns;
  own.deadline = own.period = 0;
  own.size = sizeof own;
  return sys_call(SYS_sched_setattr, 0L, &own, 0L) >= 0;
}

// Who asks for short turns has each of them sooner where all cores have work, and has no more of
// the processor for it (EEVDF: a turn is due when its length has passed; since 6.12, and a matter
// of nothing before). Children inherit it: take_turns_of() what this gives is for them. The length
// before, or 0 where nothing was changed.
inline uint64_t take_short_turns() {
  kernel::SchedulerAttributes own{};
  if (!read_turns(own) || own.runtime <= kShortTurnNs) return 0;
  return take_turns_of(kShortTurnNs) ? own.runtime : 0;
}

}  // namespace caisson

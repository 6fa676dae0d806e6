// Caller and warden on one core, for as long as a descriptor changes hands.
#pragma once

#include "warden/state.h"

namespace caisson::warden {

// Handing over is four wakings, and the kernel keeps two of them on the core where they come from
// (SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP: the question and the answer). At the other two it sends the
// caller, and then the warden, to a core that is idle, and both wait until that one is awake:
// longer than all the rest takes. The filter lets the cell choose no core, so that what is put back
// here is what was there.
class SameCore {
 public:
  explicit SameCore(const Call&);
  SameCore(const SameCore&) = delete;
  SameCore& operator=(const SameCore&) = delete;
  // Before the caller goes on: it could ask again, and what is read then would be kept for good.
  void let_caller_go();
  ~SameCore();

 private:
  int caller_;
  bool caller_stays_ = false, warden_stays_ = false;
  Cores callers_;
};

void read_cores(int thread, Cores&);  // 0: of the one who asks

}  // namespace caisson::warden

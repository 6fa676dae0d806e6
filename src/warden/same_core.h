// Caller and warden on one core, for as long as a descriptor changes hands.
#pragma once

#include "warden/state.h"

namespace caisson::warden {

// The core that a thread of the warden is kept on. To be kept and let go costs as much as the call
// itself, so a thread stays from one call to the next if that one waits already: then it is the
// core that it would be kept on again. It leaves before it sleeps, before it waits for somebody and
// before it looks through a folder: nobody who asks from another core waits for this one.
class Post {
 public:
  constexpr Post() = default;
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;
  int take();  // the core; -1: it can't be kept
  void leave();
  bool is_taken() const { return core_ >= 0; }

 private:
  int core_ = -1;
};

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
  ~SameCore() { let_caller_go(); }

 private:
  int caller_;
  bool caller_stays_ = false;
  Cores callers_;
};

void read_cores(int thread, Cores&);  // 0: of the one who asks

}  // namespace caisson::warden

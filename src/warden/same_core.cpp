#include "warden/same_core.h"

namespace caisson::warden {

namespace {

constexpr int kSelf = 0;

bool has(const Cores& cores, unsigned core) {
  return cores.size > 0 && core < 8 * static_cast<unsigned long>(cores.size) &&
         (cores.bits[core / 8] >> core % 8 & 1);
}

// Who has only this one is kept on it already.
bool has_only(const Cores& cores, unsigned core) {
  if (!has(cores, core)) return false;
  for (unsigned i = 0; i < static_cast<unsigned long>(cores.size); ++i)
    if (cores.bits[i] != (i == core / 8 ? 1u << core % 8 : 0u)) return false;
  return true;
}

// Only where it may run anyhow: a cell that is kept to some cores stays there.
bool keep(int thread, const Cores& allowed, unsigned core) {
  if (!has(allowed, core)) return false;
  unsigned char one[sizeof allowed.bits]{};
  one[core / 8] = static_cast<unsigned char>(1u << core % 8);
  return sys_call(SYS_sched_setaffinity, long{thread}, allowed.size, one) >= 0;
}

void put_back(int thread, const Cores& cores) {
  sys_call(SYS_sched_setaffinity, long{thread}, cores.size, cores.bits);
}

}  // namespace

void read_cores(int thread, Cores& cores) {
  cores.size = sys_call(SYS_sched_getaffinity, long{thread}, long{sizeof cores.bits}, cores.bits);
}

int Post::take() {
  if (is_taken()) return core_;
  unsigned core = 0;
  if (sys_call(SYS_getcpu, &core, 0L, 0L) < 0) return -1;
  if (has_only(warden.cores, core)) return static_cast<int>(core);
  if (keep(kSelf, warden.cores, core)) core_ = static_cast<int>(core);
  return core_;
}

void Post::leave() {
  if (is_taken()) put_back(kSelf, warden.cores);
  core_ = -1;
}

SameCore::SameCore(const Call& call) : caller_(call.thread) {
  int core = call.post->take();
  if (core < 0) return;
  read_cores(caller_, callers_);
  if (has_only(callers_, static_cast<unsigned>(core))) return;
  caller_stays_ = keep(caller_, callers_, static_cast<unsigned>(core));
  // A caller that can't come here is waited for wherever it is.
  if (!caller_stays_) call.post->leave();
}

void SameCore::let_caller_go() {
  if (caller_stays_) put_back(caller_, callers_);
  caller_stays_ = false;
}

}  // namespace caisson::warden

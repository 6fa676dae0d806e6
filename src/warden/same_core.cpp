#include "warden/same_core.h"

namespace caisson::warden {

namespace {

constexpr int kSelf = 0;

// Only where it may run anyhow: a cell that is kept to some cores stays there.
bool keep(int thread, const Cores& allowed, unsigned core) {
  if (allowed.size <= 0 || core >= 8 * static_cast<unsigned long>(allowed.size)) return false;
  unsigned char one[sizeof allowed.bits]{};
  one[core / 8] = static_cast<unsigned char>(1u << core % 8);
  if (!(allowed.bits[core / 8] & one[core / 8])) return false;
  return sys_call(SYS_sched_setaffinity, long{thread}, allowed.size, one) >= 0;
}

void put_back(int thread, const Cores& cores) {
  sys_call(SYS_sched_setaffinity, long{thread}, cores.size, cores.bits);
}

}  // namespace

void read_cores(int thread, Cores& cores) {
  cores.size = sys_call(SYS_sched_getaffinity, long{thread}, long{sizeof cores.bits}, cores.bits);
}

SameCore::SameCore(const Call& call) : caller_(call.thread) {
  unsigned core = 0;
  if (sys_call(SYS_getcpu, &core, 0L, 0L) < 0) return;
  read_cores(caller_, callers_);
  caller_stays_ = keep(caller_, callers_, core);
  warden_stays_ = caller_stays_ && keep(kSelf, warden.cores, core);
}

void SameCore::let_caller_go() {
  if (caller_stays_) put_back(caller_, callers_);
  caller_stays_ = false;
}

SameCore::~SameCore() {
  let_caller_go();
  if (warden_stays_) put_back(kSelf, warden.cores);
}

}  // namespace caisson::warden

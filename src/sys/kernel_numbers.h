// Numbers of newer kernel interfaces that Debian 12's headers do not all have.
#pragma once

#include <stdint.h>

namespace caisson::kernel {

// System calls with the same number on every architecture.
constexpr long kOpenTree = 428, kMoveMount = 429, kFsopen = 430, kFsconfig = 431, kFsmount = 432;
constexpr long kPidfdOpen = 434, kClone3 = 435, kCloseRange = 436, kOpenat2 = 437;
constexpr long kMountSetattr = 442;
constexpr long kLandlockCreateRuleset = 444, kLandlockAddRule = 445, kLandlockRestrictSelf = 446;

constexpr unsigned kOpenTreeClone = 1, kOpenTreeCloexec = 02000000;
constexpr unsigned kAtEmptyPath = 0x1000, kAtRecursive = 0x8000;
constexpr unsigned kMoveFromEmptyPath = 0x4, kMoveToEmptyPath = 0x40;
constexpr unsigned kFsConfigSetString = 1, kFsConfigCreate = 6;
constexpr uint64_t kMountReadOnly = 1, kMountNoSuid = 2, kMountNoDev = 4, kMountNoExec = 8;

struct MountAttr {
  uint64_t set, clear, propagation, userns_fd;
};

constexpr uint64_t kResolveNoMagicLinks = 2, kResolveNoSymlinks = 4, kResolveBeneath = 8,
                   kResolveInRoot = 16;
struct OpenHow {
  uint64_t flags, mode, resolve;
};

struct LandlockRuleset {
  uint64_t handled_fs, handled_net, scoped;
};
struct [[gnu::packed]] LandlockPathBeneath {
  uint64_t allowed;
  int32_t parent_fd;
};
constexpr unsigned kLandlockRulePathBeneath = 1, kLandlockQueryVersion = 1;

// sched_setattr(2), as of 5.3. `runtime`: of an ordinary policy, how long one turn is (6.12).
struct SchedulerAttributes {
  uint32_t size = sizeof(SchedulerAttributes), policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
  uint32_t least_use, most_use;
};

}  // namespace caisson::kernel

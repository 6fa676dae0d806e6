// Which folders were there before the cell: those keep what is protected in them.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "warden/places.h"
#include "warden/state.h"

namespace caisson::warden {

namespace {

// Where a birth is the kernel's word. On overlayfs a chmod makes an old folder new (it is copied
// up), and some others let whoever owns a file set it.
bool keeps_births(long fd) {
  constexpr long kTrusted[] = {0xef53 /* ext4 */, 0x58465342 /* xfs */, 0x9123683e /* btrfs */,
                               0x01021994 /* tmpfs */};
  struct statfs info;
  if (sys_call(SYS_fstatfs, fd, &info) < 0) return false;
  for (long one : kTrusted)
    if (info.f_type == one) return true;
  return false;
}

// Elsewhere the warden remembers what it has made itself. A number that was given to another folder
// since then is a new one's, too. When there is no room left, what comes is taken for old.
struct Made {
  uint64_t device, inode;  // 0: free
};
constexpr uint32_t kMostMade = 1 << 14, kMostSteps = 64;
Made made[kMostMade];
constinit Places places;

// The slot that has it, or the one that it would take; null: neither is near enough.
Made* slot_of(uint64_t device, uint64_t inode) {
  uint64_t at = (inode ^ inode >> 32 ^ device) * 0x9e3779b97f4a7c15u >> 50;
  for (uint32_t i = 0; i < kMostSteps; ++i) {
    Made& one = made[(at + i) % kMostMade];
    if (one.inode == 0 || (one.inode == inode && one.device == device)) return &one;
  }
  return nullptr;
}

bool is_remembered(long fd) {
  struct stat info;
  if (sys_call(SYS_newfstatat, fd, "", &info, long{AT_EMPTY_PATH}) < 0) return false;
  const Made* slot = slot_of(info.st_dev, info.st_ino);
  return slot && slot->inode != 0;
}

}  // namespace

void remember_made(const Spot& spot) {
  if (keeps_births(spot.folder)) return;
  struct stat info;
  if (sys_call(SYS_newfstatat, long{spot.folder}, spot.name, &info, long{AT_SYMLINK_NOFOLLOW}) <
          0 ||
      !S_ISDIR(info.st_mode))
    return;
  if (Made* slot = slot_of(info.st_dev, info.st_ino)) *slot = {info.st_dev, info.st_ino};
}

// By the birth of the very thing that was opened: a path could lead to another one a moment later.
// Any doubt is old.
bool is_older(long fd) {
  if (!keeps_births(fd)) return !is_remembered(fd);
  struct statx info {};
  long result = sys_call(SYS_statx, fd, "", long{AT_EMPTY_PATH}, long{STATX_BTIME}, &info);
  if (result < 0 || !(info.stx_mask & STATX_BTIME)) return true;
  if (info.stx_btime.tv_sec != warden.start_sec) return info.stx_btime.tv_sec < warden.start_sec;
  return info.stx_btime.tv_nsec <= warden.start_nsec;
}

bool is_older_for_sure(long fd) { return keeps_births(fd) && is_older(fd); }

// Whoever works in a folder knows it by its path, not by its age: what is made where one stood is
// that folder to them. Only asked and changed by who has the order of changes.
void remember_place(const char* path, uint32_t size, long folder) {
  if (lies_in_older_reach(path, size) && is_older(folder)) places.add(path, size);
}

// A table that is full has every path, and the rules are still those of their own reach.
bool stood_there(const char* path, uint32_t size) {
  return warden.rules->judge_places && places.has(path, size) && lies_in_older_reach(path, size);
}

}  // namespace caisson::warden

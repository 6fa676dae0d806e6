#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "warden/match.h"
#include "warden/state.h"

namespace caisson::warden {

namespace {

// By the birth of the folder, which nobody can set. One that is gone protects nothing; a filesystem
// that keeps no births, or any doubt, is old.
bool is_older(long dirfd, const char* path, long flags) {
  struct statx info {};
  long result = sys_call(SYS_statx, dirfd, path, flags, long{STATX_BTIME}, &info);
  if (result == -ENOENT) return false;
  if (result < 0 || !(info.stx_mask & STATX_BTIME)) return true;
  if (info.stx_btime.tv_sec != warden.start_sec) return info.stx_btime.tv_sec < warden.start_sec;
  return info.stx_btime.tv_nsec <= warden.start_nsec;
}

// The folder that holds the matched name.
bool folder_is_older(const char* path, uint32_t matched) {
  char folder[kMostText];
  uint32_t size = matched < kMostText ? matched : 0;
  while (size > 1 && path[size - 1] != '/') --size;
  if (size > 1) --size;
  copy_bytes(folder, path, size);
  folder[size] = 0;
  return is_older(AT_FDCWD, size ? folder : "/", AT_SYMLINK_NOFOLLOW);
}

// How much of the path the closest pattern matches; 0: none does.
uint32_t closest(const Pattern* patterns, uint32_t count, const char* path, uint32_t size,
                 uint32_t* which) {
  uint32_t best = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Match found = match(patterns[i], path, size);
    if (!found.hit || found.matched <= best) continue;
    best = found.matched;
    if (which) *which = i;
  }
  return best;
}

}  // namespace

uint32_t forbids_write(const char* path, uint32_t size) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_names) return kFree;
  for (uint32_t i = 0; i < rules.deny_write_count; ++i) {
    const Pattern& pattern = rules.deny_write[i];
    Match found = match(pattern, path, size);
    if (!found.hit) continue;
    if (!pattern.only_in_older_folder || folder_is_older(path, found.matched)) return i;
  }
  return kFree;
}

// The most specific wins.
uint32_t forbids_read(const char* path, uint32_t size) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_reads || rules.deny_read_count == 0) return kFree;
  uint32_t rule = kFree;
  uint32_t denied = closest(rules.deny_read, rules.deny_read_count, path, size, &rule);
  if (!denied) return kFree;
  uint32_t allowed = closest(rules.allow_read, rules.allow_read_count, path, size, nullptr);
  return allowed > denied ? kFree : rule;
}

uint32_t is_above_protected(const char* path, uint32_t size, int moved) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_renames) return kFree;
  for (uint32_t i = 0; i < rules.deny_write_count; ++i) {
    const Pattern& pattern = rules.deny_write[i];
    if (!match(pattern, path, size).ancestor) continue;
    if (!pattern.only_in_older_folder) return i;
    if (moved >= 0 && is_older(moved, "", AT_EMPTY_PATH)) return i;
  }
  for (uint32_t i = 0; i < rules.deny_read_count && moved >= 0; ++i)
    if (match(rules.deny_read[i], path, size).ancestor) return rules.deny_write_count + i;
  return kFree;
}

// With the folder gone another one, new, could take its place, and what was protected in it would
// not be in the new one.
uint32_t is_older_above_protected(const char* path, uint32_t size) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_renames) return kFree;
  for (uint32_t i = 0; i < rules.deny_write_count; ++i) {
    const Pattern& pattern = rules.deny_write[i];
    if (pattern.only_in_older_folder && match(pattern, path, size).ancestor &&
        is_older(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW))
      return i;
  }
  return kFree;
}

// What is in a folder is not looked at when it moves: into the reach of a pattern it must come name
// by name. EXDEV has mv, git and npm do just that.
bool changes_scope(const Spot& from, const Spot& to) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_renames) return false;
  for (uint32_t i = 0; i < rules.deny_write_count; ++i)
    if (match(rules.deny_write[i], from.text, from.size).loops !=
        match(rules.deny_write[i], to.text, to.size).loops)
      return true;
  for (uint32_t i = 0; i < rules.deny_read_count; ++i)
    if (match(rules.deny_read[i], from.text, from.size).loops !=
        match(rules.deny_read[i], to.text, to.size).loops)
      return true;
  return false;
}

// Through /proc a process may always look at itself: what the warden opened there for a caller
// would be its own memory.
bool is_own_proc(const char* path, uint32_t size) {
  constexpr char kProc[] = "/proc/";
  for (uint32_t i = 0; i < 6; ++i)
    if (i >= size || path[i] != kProc[i]) return false;
  long number = 0;
  uint32_t at = 6;
  for (; at < size && path[at] >= '0' && path[at] <= '9' && at < 16; ++at)
    number = number * 10 + (path[at] - '0');
  return at > 6 && is_own_thread(number);
}

void report(Refused what, uint32_t rule, const char* path, uint32_t size) {
  if (warden.rules->report_fd < 0) return;
  Report told;
  told.what = what;
  told.rule = rule;
  told.size = size < sizeof told.path ? size : sizeof told.path;
  copy_bytes(told.path, path, told.size);
  // A supervisor that is behind loses some: nobody waits for it.
  sys_call(SYS_sendto, long{warden.rules->report_fd}, &told,
           static_cast<long>(__builtin_offsetof(Report, path) + told.size),
           long{MSG_DONTWAIT | MSG_NOSIGNAL}, 0L, 0L);
}

}  // namespace caisson::warden

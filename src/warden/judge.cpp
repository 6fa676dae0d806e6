#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "warden/match.h"
#include "warden/state.h"

namespace caisson::warden {

namespace {

// "../../status": `levels` up, and there `name`.
bool climb(unsigned levels, const char* name, char* to, uint32_t size) {
  uint32_t at = 0;
  if (levels * 3 + text_size(name) + 1 > size) return false;
  for (unsigned i = 0; i < levels; ++i, at += 3) copy_bytes(to + at, "../", 3);
  copy_bytes(to + at, name, text_size(name) + 1);
  return true;
}

unsigned count_slashes(const char* path, uint32_t from, uint32_t to) {
  unsigned n = 0;
  for (uint32_t i = from; i < to; ++i) n += path[i] == '/';
  return n;
}

// Of the folder that is the path's first `end` bytes, found from `folder`, which holds the path's
// last name. It is older by its birth, or because an older one stood in its place.
bool folder_is_older(const char* path, uint32_t size, uint32_t end, long folder) {
  if (folder < 0 || stood_there(path, end)) return true;
  unsigned levels = count_slashes(path, end + 1, size);
  if (levels == 0) return is_older(folder);
  char way[256];
  if (!climb(levels, "", way, sizeof way)) return true;
  long above = sys_call(SYS_openat, folder, way, long{O_PATH | O_DIRECTORY | O_CLOEXEC});
  if (above < 0) return true;
  bool older = is_older(above);
  close_fd(above);
  return older;
}

// Whether the name begins in an older folder, at any of the places where it may.
bool begins_in_older(const Pattern& pattern, const char* path, uint32_t size, long folder) {
  uint32_t at = begins_at(pattern, path, size, 0);
  for (; at != kNowhere; at = begins_at(pattern, path, size, at + 1))
    if (folder_is_older(path, size, at, folder)) return true;
  return false;
}

bool holds(const Pattern& pattern, const char* path, uint32_t size, uint32_t matched, long folder) {
  if (!pattern.only_in_older_folder) return true;
  if (pattern.first < pattern.count) return begins_in_older(pattern, path, size, folder);
  while (matched > 0 && path[matched - 1] != '/') --matched;
  return folder_is_older(path, size, matched ? matched - 1 : 0, folder);
}

// Which patterns neither hit a path nor have it as an ancestor, by one look at its names.
class Excluded {
 public:
  Excluded(const char* path, uint32_t size)
      : size_(size), has_first_name_(warden.first_names.may_be_in(path, size)) {}
  bool has(const Pattern& pattern) const {
    return !has_first_name_ && needs_first_name(pattern, size_);
  }

 private:
  uint32_t size_;
  bool has_first_name_;
};

// How much of the path the closest pattern matches; 0: none does.
uint32_t closest(const Pattern* patterns, uint32_t count, const char* path, uint32_t size,
                 uint32_t* which) {
  Excluded excluded(path, size);
  uint32_t best = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (excluded.has(patterns[i])) continue;
    Match found = match(patterns[i], path, size);
    if (!found.hit || found.matched <= best) continue;
    best = found.matched;
    if (which) *which = i;
  }
  return best;
}

}  // namespace

uint32_t forbids_write(const char* path, uint32_t size, long folder) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_names) return kFree;
  Excluded excluded(path, size);
  for (uint32_t i = 0; i < rules.deny_write_count; ++i) {
    const Pattern& pattern = rules.deny_write[i];
    if (pattern.new_file_only || excluded.has(pattern)) continue;
    Match found = match(pattern, path, size);
    if (found.hit && holds(pattern, path, size, found.matched, folder)) return i;
  }
  return kFree;
}

// Only a link that has part of the protected name itself (`.git` of `.git/hooks`): what begins
// behind it is judged where it leads to.
uint32_t forbids_write_through(const char* path, uint32_t own, uint32_t size, long folder) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_names || !rules.judge_through_links) return kFree;
  for (uint32_t i = 0; i < rules.deny_write_count; ++i) {
    const Pattern& pattern = rules.deny_write[i];
    if (pattern.itself_only) continue;
    Match here = match(pattern, path, own);
    if (!here.hit && !(here.ancestor && match(pattern, path, size).hit)) continue;
    if (!pattern.only_in_older_folder) return i;
    bool by_first = pattern.first < pattern.count;
    if (by_first ? begins_in_older(pattern, path, own, folder) : is_older(folder)) return i;
  }
  return kFree;
}

uint32_t forbids_write_of(const Spot& spot) {
  uint32_t rule = forbids_write(spot.text, spot.size, spot.folder);
  return rule != kFree ? rule : spot.through_write;
}

uint32_t forbids_new(const char* path, uint32_t size, long folder) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_names) return kFree;
  Excluded excluded(path, size);
  for (uint32_t i = 0; i < rules.deny_write_count; ++i) {
    const Pattern& pattern = rules.deny_write[i];
    if (!pattern.new_file_only || excluded.has(pattern)) continue;
    Match found = match(pattern, path, size);
    if (found.hit && holds(pattern, path, size, found.matched, folder) &&
        !lies_in_repository(path, pattern.head_size, size))
      return i;
  }
  return kFree;
}

bool touches_protected(const char* path, uint32_t size) {
  const Rules& rules = *warden.rules;
  Excluded excluded(path, size);
  for (uint32_t i = 0; i < rules.deny_write_count; ++i) {
    const Pattern& pattern = rules.deny_write[i];
    if (excluded.has(pattern)) continue;
    Match found = match(pattern, path, size);
    if (found.hit || (found.ancestor && pattern.only_in_older_folder)) return true;
  }
  return false;
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

// The link to a file that was removed while it is open ends with these words: by a name that it
// had, and that may not be read, it is not read now either.
uint32_t forbids_read_of(const Spot& spot) {
  constexpr char kGone[] = " (deleted)";
  constexpr uint32_t kLength = sizeof kGone - 1;
  uint32_t rule = forbids_read(spot.text, spot.size);
  if (rule == kFree) rule = spot.through_read;
  if (rule != kFree || spot.size <= kLength) return rule;
  if (!same(spot.text + spot.size - kLength, kGone)) return rule;
  return forbids_read(spot.text, spot.size - kLength);
}

uint32_t is_above_protected(const char* path, uint32_t size, int moved) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_renames) return kFree;
  for (uint32_t i = 0; i < rules.deny_write_count; ++i) {
    const Pattern& pattern = rules.deny_write[i];
    if (!match(pattern, path, size).ancestor) continue;
    if (!pattern.only_in_older_folder) return i;
    if (moved >= 0 && is_older(moved)) return i;
  }
  for (uint32_t i = 0; i < rules.deny_read_count && moved >= 0; ++i)
    if (match(rules.deny_read[i], path, size).ancestor) return rules.deny_write_count + i;
  return kFree;
}

uint32_t stands_above_protected(const char* path, uint32_t size, long folder) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_renames) return kFree;
  for (uint32_t i = 0; i < rules.deny_write_count; ++i) {
    const Pattern& pattern = rules.deny_write[i];
    if (pattern.first < pattern.count && pattern.only_in_older_folder &&
        match(pattern, path, size).ancestor && begins_in_older(pattern, path, size, folder))
      return i;
  }
  return kFree;
}

uint32_t comes_above_protected(const char* path, uint32_t size, int moved, long folder) {
  uint32_t rule = is_above_protected(path, size, moved);
  return rule != kFree ? rule : stands_above_protected(path, size, folder);
}

uint32_t leads_past_protected(const char* path, uint32_t size, long folder) {
  uint32_t rule = comes_above_protected(path, size, -1, folder);
  const Rules& rules = *warden.rules;
  for (uint32_t i = 0; rule == kFree && rules.judge_renames && i < rules.deny_write_count; ++i) {
    const Pattern& pattern = rules.deny_write[i];
    if (pattern.first >= pattern.count || !pattern.only_in_older_folder) continue;
    // In a "**" behind the first part: any folder there is above what the pattern means.
    if (match(pattern, path, size).loops >> pattern.first &&
        begins_in_older(pattern, path, size, folder))
      rule = i;
  }
  return rule;
}

// With the folder gone another one, new, could take its place, and what was protected in it would
// not be in the new one.
uint32_t is_older_above_protected(const char* path, uint32_t size, long folder) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_renames) return kFree;
  for (uint32_t i = 0; i < rules.deny_write_count; ++i) {
    const Pattern& pattern = rules.deny_write[i];
    if (pattern.only_in_older_folder && match(pattern, path, size).ancestor && is_older(folder))
      return i;
  }
  return kFree;
}

// A name that is matched itself was judged as such, with all that is below it.
static bool reach_differs(const Pattern& pattern, const Spot& from, const Spot& to) {
  Match here = match(pattern, from.text, from.size), there = match(pattern, to.text, to.size);
  return !here.hit && !there.hit && here.loops != there.loops;
}

// What is in a folder is not looked at when it moves: into the reach of a pattern it must come name
// by name. EXDEV has mv, git and npm do just that.
bool changes_scope(const Spot& from, const Spot& to) {
  const Rules& rules = *warden.rules;
  if (!rules.judge_renames) return false;
  for (uint32_t i = 0; i < rules.deny_write_count; ++i)
    if (reach_differs(rules.deny_write[i], from, to)) return true;
  for (uint32_t i = 0; i < rules.deny_read_count; ++i)
    if (reach_differs(rules.deny_read[i], from, to)) return true;
  return false;
}

bool lies_in_reach(const char* path, uint32_t size) {
  const Rules& rules = *warden.rules;
  for (uint32_t i = 0; i < rules.deny_write_count; ++i)
    if (match(rules.deny_write[i], path, size).loops) return true;
  return false;
}

bool lies_in_older_reach(const char* path, uint32_t size) {
  const Rules& rules = *warden.rules;
  for (uint32_t i = 0; i < rules.deny_write_count; ++i)
    if (rules.deny_write[i].only_in_older_folder && match(rules.deny_write[i], path, size).loops)
      return true;
  return false;
}

bool is_in_process(const char* path, uint32_t size) {
  constexpr char kProc[] = "/proc/";
  for (uint32_t i = 0; i < 6; ++i)
    if (i >= size || path[i] != kProc[i]) return false;
  return size > 6 && path[6] >= '0' && path[6] <= '9';
}

long is_proc(long fd) {
  constexpr long kProcMagic = 0x9fa0;
  struct statfs info;
  long result = sys_call(SYS_fstatfs, fd, &info);
  return result < 0 ? result : info.f_type == kProcMagic;
}

bool is_foreign_proc(long fd, const char* path) {
  constexpr char kProc[] = "/proc";
  uint32_t n = 0;
  while (kProc[n] && path[n] == kProc[n]) ++n;
  return (kProc[n] || (path[n] && path[n] != '/')) && is_proc(fd) != 0;
}

// Through /proc a process may always look at itself: what the warden opened there for a caller
// would be its own memory. Asked of the opened folder, so that no number can change hands; a thread
// that is gone by now may have been the warden's. In a procfs of another place (one that the host
// has mounted for a container) it has another number: nothing is opened there.
bool is_own_proc(long folder) {
  char path[kMostText], way[256], text[4096];
  long size = text_of(static_cast<int>(folder), path, sizeof path);
  if (size < 0 || is_foreign_proc(folder, path)) return true;
  if (!is_in_process(path, static_cast<uint32_t>(size))) return false;
  unsigned levels = count_slashes(path, 6, static_cast<uint32_t>(size));
  if (!climb(levels, "status", way, sizeof way)) return true;
  long fd = sys_call(SYS_openat, folder, way, long{O_RDONLY | O_NOFOLLOW | O_CLOEXEC});
  if (fd < 0) return true;
  long got = sys_call(SYS_read, fd, text, long{sizeof text - 1});
  close_fd(fd);
  if (got <= 0) return true;
  text[got] = 0;
  long process = labelled(text, "Tgid:", 10);
  return process <= 0 || process == warden.process;
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

// mkdir, mknod, symlink, link, rename, rmdir: the names are judged as folder and name, and used as
// folder and name.
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

#include "warden/same_core.h"
#include "warden/state.h"

namespace caisson::warden {

namespace {

int as_fd(uint64_t argument) { return static_cast<int>(static_cast<uint32_t>(argument)); }

// One path of a call, found. False: answered already.
bool found(const Call& call, int dirfd, uint64_t address, Spot& spot, Last last = Last::kKeep,
           Depth depth = Depth::kFolderOnly) {
  begin_change(call);
  char path[4096];
  long result = read_path(call, address, path);
  if (result >= 0 && !still_waiting(call)) return false;
  if (result >= 0) result = find(call, dirfd, path, last, depth, spot);
  if (result >= 0) return true;
  answer(call, result);
  return false;
}

void finish(const Call& call, long result, const Spot& spot) {
  if (result == -EROFS) report(Refused::kReadOnly, kNoRule, spot.text, spot.size);
  answer(call, result);
}

bool refuse_by(const Call& call, uint32_t rule, const Spot& spot) {
  if (rule == kFree) return false;
  report(Refused::kWrite, rule, spot.text, spot.size);
  answer(call, -EPERM);
  return true;
}

// A link that stands for the folder above a protected name leads past it; so does one that stands
// where an older folder stood.
bool refuse_link(const Call& call, const Spot& at) {
  uint32_t rule = leads_past_protected(at.text, at.size, at.folder);
  if (rule == kFree) rule = forbids_new(at.text, at.size, at.folder);
  if (refuse_by(call, rule, at)) return true;
  if (!stood_there(at.text, at.size)) return false;
  report(Refused::kFormerFolder, kNoRule, at.text, at.size);
  answer(call, -EPERM);
  return true;
}

// What has the name, links not followed. `error` is 0 also when there is none: what is there but
// can't be looked at (EMFILE, ENOMEM) is not judged as if it were not.
struct Thing {
  long fd = -1, error = 0;
  bool is_folder = false, is_link = false, is_file = false;
  explicit Thing(const Spot& spot) {
    fd = look_at(spot.folder, spot.name);
    if (fd < 0) {
      error = fd == -ENOENT ? 0 : fd;
      return;
    }
    struct stat info;
    error = sys_call(SYS_newfstatat, fd, "", &info, long{AT_EMPTY_PATH});
    if (error < 0) return;
    is_folder = S_ISDIR(info.st_mode);
    is_link = S_ISLNK(info.st_mode);
    is_file = S_ISREG(info.st_mode);
  }
  ~Thing() { close_fd(fd); }
  Thing(const Thing&) = delete;
};

// Births are stamped by a clock that may lag a few milliseconds behind the one of the start. The
// first folder that a cell makes waits until it doesn't: so none of its own is taken for an older
// one.
void leave_first_tick() {
  static bool left = false;
  while (!__atomic_load_n(&left, __ATOMIC_RELAXED)) {
    timespec now{}, pause{0, 200'000};
    sys_call(SYS_clock_gettime, long{CLOCK_REALTIME_COARSE}, &now);
    bool later = now.tv_sec != warden.start_sec ? now.tv_sec > warden.start_sec
                                                : now.tv_nsec > warden.start_nsec;
    if (later)
      __atomic_store_n(&left, true, __ATOMIC_RELAXED);
    else
      sys_call(SYS_clock_nanosleep, long{CLOCK_MONOTONIC}, 0L, &pause, 0L);
  }
}

bool is_there(const Spot& spot) {
  struct stat info;
  return sys_call(SYS_newfstatat, long{spot.folder}, spot.name, &info, long{AT_SYMLINK_NOFOLLOW}) ==
         0;
}

void take_mkdir(const Call& call, int dirfd, uint64_t path, uint64_t mode) {
  leave_first_tick();
  Spot spot;
  take_umask_of(call);
  if (!found(call, dirfd, path, spot)) return;
  if (!spot.name[0]) return answer(call, -EEXIST);
  uint32_t rule = forbids_write_of(spot);
  // As the kernel has it: `mkdir -p .git/info` is no attempt at a `.git` that is there.
  if (rule != kFree && is_there(spot)) return answer(call, -EEXIST);
  if (refuse_by(call, rule, spot)) return;
  long result =
      sys_call(SYS_mkdirat, long{spot.folder}, spot.name, static_cast<long>(mode & 07777));
  if (result >= 0) remember_made(spot);
  finish(call, result, spot);
}

void take_mknod(const Call& call, int dirfd, uint64_t path, uint64_t mode, uint64_t device) {
  Spot spot;
  take_umask_of(call);
  if (!found(call, dirfd, path, spot)) return;
  if (!spot.name[0]) return answer(call, -EEXIST);
  if (spot.wants_folder) return answer(call, -ENOENT);
  if (refuse_write(call, spot) != kFree || refuse_new_file(call, spot)) return;
  finish(call,
         sys_call(SYS_mknodat, long{spot.folder}, spot.name,
                  static_cast<long>(mode & (S_IFMT | 07777)), static_cast<long>(device)),
         spot);
}

void take_symlink(const Call& call, uint64_t target, int dirfd, uint64_t path) {
  char text[4096];
  long size = read_path(call, target, text);
  if (size < 0) return answer(call, size);
  Spot spot;
  if (!found(call, dirfd, path, spot)) return;
  if (!spot.name[0]) return answer(call, -EEXIST);
  if (spot.wants_folder) return answer(call, -ENOENT);
  if (refuse_write(call, spot) != kFree || refuse_link(call, spot)) return;
  finish(call, sys_call(SYS_symlinkat, text, long{spot.folder}, spot.name), spot);
}

// What a protected name leads to could be written by its other name.
void take_link(const Call& call, int from_fd, uint64_t from_path, int to_fd, uint64_t to_path,
               uint64_t flags) {
  if (flags & ~uint64_t{AT_SYMLINK_FOLLOW | AT_EMPTY_PATH}) return answer(call, -EINVAL);
  Spot from, to;
  bool follow = flags & AT_SYMLINK_FOLLOW;
  char first = 0;
  if (flags & AT_EMPTY_PATH) read_memory(call, from_path, &first, 1);
  if ((flags & AT_EMPTY_PATH) && first == 0) {
    long fd = open_caller_folder(call, from_fd);
    if (fd < 0) return answer(call, fd);
    from.object = static_cast<int>(fd);
    long size = text_of(from.object, from.text, sizeof from.text);
    if (size < 0) return answer(call, size);
    from.size = static_cast<uint32_t>(size);
  } else if (!found(call, from_fd, from_path, from, follow ? Last::kFollow : Last::kKeep,
                    Depth::kObject)) {
    return;
  }
  if (!found(call, to_fd, to_path, to)) return;
  if (from.object < 0) return answer(call, -ENOENT);
  if (!to.name[0]) return answer(call, -EEXIST);
  if (to.wants_folder) return answer(call, -ENOENT);
  if (warden.rules->judge_links && from.text[0] == '/') {
    if (refuse_write(call, from) != kFree) return;
    uint32_t rule = forbids_read_of(from);
    if (rule != kFree) {
      report(Refused::kRead, rule, from.text, from.size);
      return answer(call, -EACCES);
    }
  }
  if (warden.rules->judge_links && refuse_write(call, to) != kFree) return;
  if (refuse_new_file(call, to)) return;
  struct stat info;
  long seen = sys_call(SYS_newfstatat, long{from.object}, "", &info, long{AT_EMPTY_PATH});
  if (seen < 0) return answer(call, seen);
  if (S_ISLNK(info.st_mode) && refuse_link(call, to)) return;
  if (S_ISSOCK(info.st_mode) && comes_to_allowed_socket(from, to)) {
    report(Refused::kSocket, kNoRule, from.text, from.size);
    return answer(call, -EPERM);
  }
  char number[24];
  put_number(number, static_cast<uint64_t>(from.object));
  finish(call,
         sys_call(SYS_linkat, long{warden.own_fds}, number, long{to.folder}, to.name,
                  long{AT_SYMLINK_FOLLOW}),
         to);
}

// One side of a rename: what is there may not go.
bool may_not_leave(const Call& call, const Spot& at, const Thing& there, bool readable) {
  if (refuse_write(call, at) != kFree) return true;
  // Under another name it could be read.
  uint32_t rule = readable ? forbids_read_of(at) : kFree;
  if (rule != kFree) {
    report(Refused::kRead, rule, at.text, at.size);
    answer(call, -EACCES);
    return true;
  }
  // Whatever it is: another cell that works here could have put a folder in the place of a file.
  return there.fd >= 0 &&
         refuse_by(call, is_above_protected(at.text, at.size, static_cast<int>(there.fd)), at);
}

// True when it was answered.
bool stays_for_what_it_holds(const Call& call, const Spot& at, const Thing& folder) {
  uint32_t rule = kFree;
  if (!folder.is_folder) return false;
  call.post->leave();
  long result = holds_protected(at, folder.fd, rule);
  if (result == -EPERM) return refuse_by(call, rule, at);
  if (result < 0) answer(call, result);
  return result < 0;
}

// The other side: what comes may not stand there, or brings what may not.
bool may_not_come(const Call& call, const Spot& from, const Spot& to, const Thing& comes,
                  const Thing& was) {
  if (comes.fd < 0) return false;
  int moved = static_cast<int>(comes.fd);
  uint32_t rule = comes_above_protected(to.text, to.size, moved, to.folder);
  // git writes a file beside it and renames it onto the one that is there: a file or a link.
  // Whatever comes: another cell could have put a file in the place of a folder.
  if (rule == kFree && !was.is_file && !was.is_link)
    rule = forbids_new(to.text, to.size, to.folder);
  if (refuse_by(call, rule, to)) return true;
  if (comes.is_link && refuse_link(call, to)) return true;
  if (!comes.is_folder || !stood_there(to.text, to.size)) return false;
  long result = brings_protected(from, to, rule);
  if (result == -EPERM) return refuse_by(call, rule, to);
  if (result < 0) answer(call, result);
  return result < 0;
}

bool may_not_move(const Call& call, const Spot& from, const Spot& to, const Thing& moved,
                  const Thing& replaced, bool exchange) {
  if (!warden.rules->judge_renames) return false;
  if (may_not_leave(call, from, moved, true)) return true;
  if (may_not_leave(call, to, replaced, exchange)) return true;
  if (stays_for_what_it_holds(call, from, moved)) return true;
  if (exchange && stays_for_what_it_holds(call, to, replaced)) return true;
  // One that is replaced is empty.
  if (replaced.is_folder) remember_place(to.text, to.size, replaced.fd);
  if (may_not_come(call, from, to, moved, replaced)) return true;
  return exchange && may_not_come(call, to, from, replaced, moved);
}

void take_rename(const Call& call, int from_fd, uint64_t from_path, int to_fd, uint64_t to_path,
                 uint64_t flags) {
  if (flags & ~uint64_t{RENAME_EXCHANGE | RENAME_NOREPLACE | RENAME_WHITEOUT})
    return answer(call, -EINVAL);
  if (flags & RENAME_WHITEOUT) return answer(call, -EPERM);  // makes a device
  Spot from, to;
  if (!found(call, from_fd, from_path, from) || !found(call, to_fd, to_path, to)) return;
  if (!from.name[0] || !to.name[0]) return answer(call, -EBUSY);
  Thing moved(from), replaced(to);
  if (moved.error < 0 || replaced.error < 0)
    return answer(call, moved.error < 0 ? moved.error : replaced.error);
  if (may_not_move(call, from, to, moved, replaced, flags & RENAME_EXCHANGE)) return;
  if (changes_scope(from, to)) return answer(call, -EXDEV);
  // What moves may be a socket of the host, or a folder with one in it. `mv` copies it, and a copy
  // of a socket leads nowhere.
  bool exchange = flags & RENAME_EXCHANGE;
  if (comes_to_allowed_socket(from, to) || (exchange && comes_to_allowed_socket(to, from)))
    return answer(call, -EXDEV);
  if ((from.wants_folder || to.wants_folder) && !moved.is_folder) return answer(call, -ENOTDIR);
  finish(call,
         sys_call(SYS_renameat2, long{from.folder}, from.name, long{to.folder}, to.name,
                  static_cast<long>(flags)),
         to);
}

void take_rmdir(const Call& call, int dirfd, uint64_t path) {
  Spot spot;
  if (!found(call, dirfd, path, spot)) return;
  if (!spot.name[0]) return answer(call, -EBUSY);
  if (refuse_write(call, spot) != kFree) return;
  Thing there(spot);
  if (there.error < 0) return answer(call, there.error);
  if (refuse_older_above(call, spot, there.fd)) return;
  long result = sys_call(SYS_unlinkat, long{spot.folder}, spot.name, long{AT_REMOVEDIR});
  if (result >= 0) remember_place(spot.text, spot.size, there.fd);
  finish(call, result, spot);
}

}  // namespace

void answer(const Call& call, long result) {
  seccomp_notif_resp response{};
  response.id = call.id;
  if (result < 0)
    response.error = static_cast<int>(result);
  else
    response.val = result;
  sys_call(SYS_ioctl, long{warden.listener}, static_cast<long>(SECCOMP_IOCTL_NOTIF_SEND),
           &response);
}

// Ours is closed before the caller goes on (so not SECCOMP_ADDFD_FLAG_SEND, which is one step
// less): a file that is still open for writing here could not be executed (ETXTBSY), and its lock
// would outlive the caller's close.
void answer_with(const Call& call, long fd, bool close_on_exec) {
  if (fd < 0) return answer(call, fd);
  SameCore same_core(call);
  seccomp_notif_addfd put{};
  put.id = call.id;
  put.srcfd = static_cast<uint32_t>(fd);
  put.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
  long result = sys_call(SYS_ioctl, long{warden.listener},
                         static_cast<long>(SECCOMP_IOCTL_NOTIF_ADDFD), &put);
  close_fd(fd);
  same_core.let_caller_go();
  answer(call, result);  // an error: its table is full; or it is gone, and nobody hears
}

uint32_t refuse_write(const Call& call, const Spot& spot) {
  uint32_t rule = forbids_write_of(spot);
  if (rule == kFree) return rule;
  report(Refused::kWrite, rule, spot.text, spot.size);
  answer(call, -EPERM);
  return rule;
}

bool refuse_older_above(const Call& call, const Spot& spot, long there) {
  if (there < 0) return false;
  return refuse_by(call, is_older_above_protected(spot.text, spot.size, there), spot);
}

bool refuse_new_file(const Call& call, const Spot& spot) {
  uint32_t rule = stands_above_protected(spot.text, spot.size, spot.folder);
  if (rule == kFree) rule = forbids_new(spot.text, spot.size, spot.folder);
  return refuse_by(call, rule, spot);
}

void take_call(const Call& call) {
  const uint64_t* a = call.args;
  switch (call.number) {
    case SYS_openat:
      return take_open(call, as_fd(a[0]), a[1], static_cast<uint32_t>(a[2]), a[3]);
    case SYS_mkdirat:
      return take_mkdir(call, as_fd(a[0]), a[1], a[2]);
    case SYS_mknodat:
      return take_mknod(call, as_fd(a[0]), a[1], a[2], static_cast<uint32_t>(a[3]));
    case SYS_symlinkat:
      return take_symlink(call, a[0], as_fd(a[1]), a[2]);
    case SYS_linkat:
      return take_link(call, as_fd(a[0]), a[1], as_fd(a[2]), a[3], static_cast<uint32_t>(a[4]));
    case SYS_renameat2:
      return take_rename(call, as_fd(a[0]), a[1], as_fd(a[2]), a[3], static_cast<uint32_t>(a[4]));
    case SYS_unlinkat:
      if (static_cast<uint32_t>(a[2]) & ~uint32_t{AT_REMOVEDIR}) return answer(call, -EINVAL);
      return a[2] & AT_REMOVEDIR ? take_rmdir(call, as_fd(a[0]), a[1])
                                 : take_unlink(call, as_fd(a[0]), a[1]);
    case SYS_truncate:
      return take_truncate(call, a[0], a[1]);
    case SYS_bind:
      return take_bind(call);
    case SYS_connect:
      return take_connect(call);
    case SYS_socket:
      return take_socket(call);
    case SYS_socketpair:
      return take_socketpair(call);
#ifdef SYS_renameat
    case SYS_renameat:
      return take_rename(call, as_fd(a[0]), a[1], as_fd(a[2]), a[3], 0);
#endif
#ifdef SYS_open
    case SYS_open:
      return take_open(call, AT_FDCWD, a[0], static_cast<uint32_t>(a[1]), a[2]);
    case SYS_creat:
      return take_open(call, AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, a[1]);
    case SYS_mkdir:
      return take_mkdir(call, AT_FDCWD, a[0], a[1]);
    case SYS_mknod:
      return take_mknod(call, AT_FDCWD, a[0], a[1], static_cast<uint32_t>(a[2]));
    case SYS_symlink:
      return take_symlink(call, a[0], AT_FDCWD, a[1]);
    case SYS_link:
      return take_link(call, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
    case SYS_rename:
      return take_rename(call, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
    case SYS_unlink:
      return take_unlink(call, AT_FDCWD, a[0]);
    case SYS_rmdir:
      return take_rmdir(call, AT_FDCWD, a[0]);
#endif
    default:
      return answer(call, -ENOSYS);
  }
}

}  // namespace caisson::warden

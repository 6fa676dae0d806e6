// open, openat, creat, truncate: the file is opened here, after its name was judged, and the
// descriptor is put into the caller's table together with the answer.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "warden/state.h"

namespace caisson::warden {

using namespace kernel;

namespace {

constexpr uint64_t kTmpfile = 020000000;
// What open(2) knows; it leaves the rest unseen, openat2 refuses it.
constexpr uint64_t kKnownFlags = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND |
                                 O_NONBLOCK | O_DSYNC | 04000000 /* __O_SYNC */ | O_ASYNC |
                                 O_DIRECT | 0100000 /* O_LARGEFILE */ | O_DIRECTORY | O_NOFOLLOW |
                                 O_NOATIME | O_CLOEXEC | kTmpfile;

struct Opening {
  const Call& call;
  uint64_t flags, mode;
  bool writes() const {
    return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC | kTmpfile));
  }
  bool reads() const { return (flags & O_ACCMODE) != O_WRONLY; }
  bool waits() const { return !(flags & O_NONBLOCK); }
  // Only a new file can't be one that keeps whoever opens it waiting.
  bool is_surely_new() const { return (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL); }
};

// A text that is matched at all is for the long way, which has the folder itself in hand.
bool is_doubtful(const Opening& open, const char* text, uint32_t size) {
  return is_in_process(text, size) || (open.writes() && touches_protected(text, size)) ||
         (open.reads() && forbids_read(text, size) != kFree);
}

// A file that stands above a protected name (a submodule's `.git`) says what is below it.
bool refuse_file_above(const Call& call, const Spot& spot) {
  if (spot.object < 0) return false;
  struct stat info;
  long result = sys_call(SYS_newfstatat, long{spot.object}, "", &info, long{AT_EMPTY_PATH});
  if (result < 0) return answer(call, result), true;
  return S_ISREG(info.st_mode) && refuse_older_above(call, spot, spot.object);
}

bool leads_to_warden(const Spot& spot) {
  long there = spot.object >= 0 ? spot.object : spot.folder;
  if (is_foreign_proc(there, spot.text)) return true;
  // What a magic link led to has no folder that could be asked.
  return is_in_process(spot.text, spot.size) && (spot.folder < 0 || is_own_proc(spot.folder));
}

// True when it was refused, and answered.
bool refused(const Opening& open, const Spot& spot) {
  if (leads_to_warden(spot)) return answer(open.call, -EACCES), true;
  if (open.writes() && refuse_write(open.call, spot) != kFree) return true;
  if (open.writes() && refuse_file_above(open.call, spot)) return true;
  bool makes = (open.flags & O_CREAT) && spot.object < 0;
  if (makes && refuse_new_file(open.call, spot)) return true;
  if (!open.reads()) return false;
  uint32_t rule = forbids_read_of(spot);
  if (rule == kFree) return false;
  report(Refused::kRead, rule, spot.text, spot.size);
  answer(open.call, -EACCES);
  return true;
}

void tell_read_only(const Opening& open, long error, const char* text, uint32_t size) {
  if (open.writes() && error == -EROFS) report(Refused::kReadOnly, kNoRule, text, size);
}

// Opened without waiting; from then on it waits again, as the caller asked.
long settle(const Opening& open, long fd) {
  if (fd < 0 || !open.waits() || open.is_surely_new()) return fd;
  constexpr uint64_t kStays =
      O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME;  // F_SETFL sets all of these
  sys_call(SYS_fcntl, fd, long{F_SETFL}, static_cast<long>(open.flags & kStays));
  return fd;
}

bool is_fifo(long fd) {
  struct stat info;
  return sys_call(SYS_newfstatat, fd, "", &info, long{AT_EMPTY_PATH}) == 0 &&
         S_ISFIFO(info.st_mode);
}

long open_text(const char* text, uint64_t flags, uint64_t mode) {
  OpenHow how{flags | O_CLOEXEC, 0, kResolveNoSymlinks | kResolveNoMagicLinks};
  if (flags & (O_CREAT | kTmpfile)) how.mode = mode & 07777;
  return sys_call(kOpenat2, long{AT_FDCWD}, text, &how, long{sizeof how});
}

// Most names that are to be made if they are not there are not there. What the kernel has made just
// now is a plain file, of no procfs: nobody has to ask what it is, nor to open it without waiting
// and then to have it wait again. Where a file was there the next ones are likely to be, too, and
// are opened at once. -EEXIST: it was not tried, or there is one.
long open_if_new(const Opening& open, const char* text) {
  constexpr unsigned kNext = 16;
  unsigned& likely_there = open.call.seen->likely_there;
  if (!(open.flags & O_CREAT)) return -EEXIST;
  if (!open.is_surely_new() && likely_there > 0) return --likely_there, -EEXIST;
  long fd = open_text(text, open.flags | O_EXCL, open.mode);
  if (fd == -EEXIST && !open.is_surely_new()) likely_there = kNext;
  return fd;
}

// True when it is done with.
bool open_quickly(const Opening& open, const char* text, uint32_t size, bool relative) {
  if (same(text, "/dev/tty")) return false;
  // A link on the way can lead out of a rule's reach: the long way finds out and refuses.
  if (is_doubtful(open, text, size)) return false;
  long fd = open_if_new(open, text);
  if (fd >= 0) return answer_with(open.call, fd, open.flags & O_CLOEXEC), true;
  if (fd == -EEXIST && !open.is_surely_new())
    fd = open_text(text, open.flags | O_NONBLOCK, open.mode);
  // A reader of a FIFO waits for its writer; asked not to wait, it gets in at once.
  if (fd >= 0 && open.waits() && (open.flags & O_ACCMODE) == O_RDONLY && is_fifo(fd)) {
    close_fd(fd);
    return false;
  }
  if (fd >= 0 && is_foreign_proc(fd, text)) {
    close_fd(fd);
    return answer(open.call, -EACCES), true;
  }
  if (fd == -ELOOP || fd == -EAGAIN || fd == -ENXIO || fd == -EINVAL || (fd == -EACCES && relative))
    return false;
  if (fd < 0) tell_read_only(open, fd, text, size);
  answer_with(open.call, settle(open, fd), open.flags & O_CLOEXEC);
  return true;
}

// May wait for a long time: for the other end of a FIFO, or for a lease to be given back.
long open_waiting(const Opening& open, long object, uint64_t flags) {
  char name[24];
  put_number(name, static_cast<uint64_t>(object));
  long own_fds = warden.own_fds, mode = static_cast<long>(open.mode & 07777);  // for O_TMPFILE
  long fd =
      sys_call(SYS_openat, own_fds, name, static_cast<long>(flags | O_NONBLOCK | O_CLOEXEC), mode);
  bool reader = fd >= 0 && (flags & O_ACCMODE) == O_RDONLY && is_fifo(fd);
  bool would_wait = fd == -EAGAIN || fd == -ENXIO || reader;
  if (!open.waits() || !would_wait) return settle(open, fd);
  close_fd(fd);
  if (!begin_waiting(open.call)) return -EAGAIN;
  fd = sys_call(SYS_openat, own_fds, name, static_cast<long>(flags | O_CLOEXEC), mode);
  end_waiting(open.call);
  return fd;
}

// The device that is the controlling terminal of whoever opens it: the caller's, by its own name.
long open_terminal_of(const Opening& open) {
  long number = caller_terminal(open.call);
  if (number < 0) return -ENXIO;
  char path[32] = "/dev/pts/";
  put_number(path + 9, static_cast<uint64_t>(number));
  return sys_call(
      SYS_openat, long{AT_FDCWD}, path,
      static_cast<long>((open.flags & ~uint64_t{O_CREAT | O_EXCL}) | O_NOCTTY | O_CLOEXEC));
}

long open_object(const Opening& open, const Spot& spot) {
  if (open.is_surely_new()) return -EEXIST;
  struct stat info;
  long result = sys_call(SYS_newfstatat, long{spot.object}, "", &info, long{AT_EMPTY_PATH});
  if (result < 0) return result;
  if (S_ISLNK(info.st_mode)) return -ELOOP;
  if (spot.wants_folder && !S_ISDIR(info.st_mode)) return -ENOTDIR;
  if (S_ISDIR(info.st_mode) && (open.flags & O_CREAT)) return -EISDIR;
  if (S_ISCHR(info.st_mode) && info.st_rdev == makedev(5, 0)) return open_terminal_of(open);
  return open_waiting(open, spot.object, open.flags & ~uint64_t{O_CREAT | O_EXCL | O_NOFOLLOW});
}

// Something came to have the name of a file that was to be made, and would be followed or waited
// for: to wait for a name is to open whatever has it then, judged or not.
bool must_look_again(const Opening& open, long fd) {
  if (fd == -ELOOP) return !(open.flags & O_NOFOLLOW);
  if (!open.waits()) return false;
  bool reads_fifo = fd >= 0 && (open.flags & O_ACCMODE) == O_RDONLY && is_fifo(fd);
  return fd == -EAGAIN || fd == -ENXIO || reads_fifo;
}

// 1: once more.
long open_slowly(const Opening& open, int dirfd, const char* path) {
  Spot spot;
  // O_CREAT|O_EXCL follows no link at the end, as open(2) has it.
  bool keep = (open.flags & O_NOFOLLOW) || open.is_surely_new();
  long result =
      find(open.call, dirfd, path, keep ? Last::kKeep : Last::kFollow, Depth::kObject, spot);
  if (result < 0) return answer(open.call, result), 0;
  // What has no path (a pipe, a socket, memory) has no name to be judged by.
  if (spot.text[0] == '/' && refused(open, spot)) return 0;
  long fd;
  if (spot.object >= 0) {
    fd = open_object(open, spot);
  } else if (!(open.flags & O_CREAT)) {
    fd = -ENOENT;
  } else if (spot.wants_folder) {
    fd = -EISDIR;
  } else {
    fd = sys_call(SYS_openat, long{spot.folder}, spot.name,
                  static_cast<long>(open.flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
                  static_cast<long>(open.mode & 07777));
    if (must_look_again(open, fd)) return close_fd(fd), 1;
    fd = settle(open, fd);
  }
  if (fd < 0) tell_read_only(open, fd, spot.text, spot.size);
  answer_with(open.call, fd, open.flags & O_CLOEXEC);
  return 0;
}

}  // namespace

void take_open(const Call& call, int dirfd, uint64_t address, uint64_t flags, uint64_t mode) {
  char path[4096], text[kMostText];
  long size = read_path(call, address, path);
  if (size < 0) return answer(call, size);
  Opening open{call, flags & kKnownFlags, mode};
  if (open.flags & O_CREAT) take_umask_of(call);
  if (open.writes()) begin_change(call);
  uint32_t plain = plain_text(call, dirfd, path, text);
  if (!still_waiting(call)) return;
  if (plain && open_quickly(open, text, plain, path[0] != '/')) return;
  for (int tries = 0; tries < 8; ++tries)
    if (open_slowly(open, dirfd, path) == 0) return;
  answer(call, -ELOOP);
}

void take_truncate(const Call& call, uint64_t address, uint64_t length) {
  char path[4096];
  long size = read_path(call, address, path);
  if (size < 0) return answer(call, size);
  if (!still_waiting(call)) return;
  begin_change(call);
  Spot spot;
  long result = find(call, AT_FDCWD, path, Last::kFollow, Depth::kObject, spot);
  if (result >= 0 && spot.object < 0) result = -ENOENT;
  if (result < 0) return answer(call, result);
  if (leads_to_warden(spot)) return answer(call, -EACCES);
  if (spot.text[0] == '/' && refuse_write(call, spot) != kFree) return;
  if (spot.text[0] == '/' && refuse_file_above(call, spot)) return;
  char number[24];
  put_number(number, static_cast<uint64_t>(spot.object));
  long fd = sys_call(SYS_openat, long{warden.own_fds}, number,
                     long{O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC});
  result = fd < 0 ? fd : sys_call(SYS_ftruncate, fd, static_cast<long>(length));
  close_fd(fd);
  if (result == -EROFS) report(Refused::kReadOnly, kNoRule, spot.text, spot.size);
  answer(call, result == -ENXIO ? -EINVAL : result);
}

}  // namespace caisson::warden

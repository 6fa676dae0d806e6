// Shared by the files of the warden. Bytes and system calls only, as in launch/child*.cpp.
#pragma once

#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdint.h>

#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"
#include "warden/first_names.h"
#include "warden/rules.h"

namespace caisson::warden {

constexpr uint32_t kMostText = 4096 + 256;
constexpr unsigned kMostThreads = 48, kMostBlocked = 40;

struct Cores {
  long size = 0;  // of the kernel's mask, in bytes; below 1: unknown
  unsigned char bits[128];
};

struct Warden {
  const Rules* rules;
  int listener;
  int own_fds;                    // /proc/self/fd
  int64_t start_sec, start_nsec;  // CLOCK_REALTIME: no birth before it is later
  int process;                    // its own pid
  bool may_look;                  // CAP_SYS_PTRACE is permitted, though not effective
  Cores cores;                    // where its threads may run
  FirstNames first_names;         // of all rules
};
extern Warden warden;

struct Thread;
class Post;

// The caller that a thread of the warden served last.
struct Seen {
  int thread = 0;
  long folder = -1;           // the link to its folder, in /proc
  unsigned likely_there = 0;  // so many openings more are taken for such of a file that is there
};

struct Call {
  uint64_t id;
  int thread;  // of the caller, as this pid namespace counts
  long number;
  uint64_t args[6];
  Thread* server;  // who takes it
  Seen* seen;
  Post* post;
};

// ---- looking at the caller (caller.cpp); each returns 0, a size or -errno ----------------------

long read_memory(const Call&, uint64_t address, void* to, uint32_t size);
long write_memory(const Call&, uint64_t address, const void* from, uint32_t size);  // all of it
// NUL-ended, at most 4096 bytes with it. -EFAULT, -ENAMETOOLONG; -ENOENT when it is empty.
long read_path(const Call&, uint64_t address, char* to);
bool still_waiting(const Call&);
long caller_folder_text(const Call&, int dirfd, char* to, uint32_t size);  // readlink of it
long open_caller_folder(const Call&, int dirfd);                           // O_PATH
long caller_umask(const Call&);                                            // -1: as it began
long caller_terminal(const Call&);                                         // the pty's number
long caller_process(const Call&);                                          // tgid
// The number after `label` in a file of "Label:\tvalue" lines.
long labelled(const char* text, const char* label, unsigned base);
void umask_changes();
// The one capability, for the one call that needs it.
void raise_sight();
void lower_sight();

// ---- finding names (walk.cpp) -------------------------------------------------------------------

struct Spot {
  int folder = -1;  // O_PATH; of the last name
  int object = -1;  // O_PATH; what is there, if it was looked up and exists
  bool looked_up = false;
  bool wants_folder = false;  // the path ended with a slash
  char name[256];
  char text[kMostText];  // canonical; of the object when it was reached by a magic link
  uint32_t size = 0;
  // Rules that the name of a link on the way breaks, wherever it leads; kNoRule: none.
  uint32_t through_write = kNoRule, through_read = kNoRule;
  ~Spot();
};
enum class Last { kFollow, kKeep };
enum class Depth { kFolderOnly, kObject };  // kFolderOnly: the last name is never followed
long find(const Call&, int dirfd, const char* path, Last, Depth, Spot&);
// The canonical text when nothing has to be looked up for it but the caller's folder; else 0.
uint32_t plain_text(const Call&, int dirfd, const char* path, char* text);
long text_of(int fd, char* text, uint32_t size);

// ---- ages (births.cpp) --------------------------------------------------------------------------

bool is_older(long fd);           // than the cell
bool is_older_for_sure(long fd);  // no doubt counts
void remember_made(const Spot&);  // a folder that the warden made
// `folder` leaves this path; if it is older, what comes there next counts as older, too.
void remember_place(const char* path, uint32_t size, long folder);
bool stood_there(const char* path, uint32_t size);

// ---- judging (judge.cpp) ------------------------------------------------------------------------

constexpr uint32_t kFree = kNoRule;
// The rule's index, or kFree. `folder` holds the last name; -1: unknown, so it is as old as can be.
uint32_t forbids_write(const char* path, uint32_t size, long folder);
uint32_t forbids_read(const char* path, uint32_t size);
// The same for what was found: by the names of links on the way, too, and by the name that it had.
uint32_t forbids_read_of(const Spot&);
uint32_t forbids_write_of(const Spot&);
// `path` is the way through a link that is its first `own` bytes, which stands in `folder`.
uint32_t forbids_write_through(const char* path, uint32_t own, uint32_t size, long folder);
// Of a file, or a link, that is to have a name that nothing has.
uint32_t forbids_new(const char* path, uint32_t size, long folder);
// Whether any of it has to be asked: the name is protected, or stands above one that is.
bool touches_protected(const char* path, uint32_t size);
// What is `moved` from `path`, or replaced there, leads to a protected name. What the cell made
// itself holds nothing that was protected.
uint32_t is_above_protected(const char* path, uint32_t size, int moved);
// A name at `path`, in `folder`, that is part of a protected one which begins in an older folder.
uint32_t stands_above_protected(const char* path, uint32_t size, long folder);
// Both, for what is to stand at `path`.
uint32_t comes_above_protected(const char* path, uint32_t size, int moved, long folder);
// The same for a link, which is a way around every name below it.
uint32_t leads_past_protected(const char* path, uint32_t size, long folder);
uint32_t is_older_above_protected(const char* path, uint32_t size, long folder);
bool changes_scope(const Spot& from, const Spot& to);
bool lies_in_reach(const char* path, uint32_t size);        // of a pattern that holds at any depth
bool lies_in_older_reach(const char* path, uint32_t size);  // … in older folders
bool is_in_process(const char* path, uint32_t size);        // /proc/N/…
bool is_own_proc(long folder);
long is_proc(long fd);  // 1, 0 or -errno: what can't be asked may be a way to ourselves
bool is_foreign_proc(long fd, const char* path);  // a procfs that is not the cell's
// What moves would stand at, above or below the path of a socket that may be connected to, and
// could not be connected to before.
bool comes_to_allowed_socket(const Spot& from, const Spot& to);
void report(Refused, uint32_t rule, const char* path, uint32_t size);

// ---- doing (calls.cpp, opening.cpp, sockets.cpp) ------------------------------------------------

void answer(const Call&, long result);
void answer_with(const Call&, long fd, bool close_on_exec);
void take_open(const Call&, int dirfd, uint64_t path, uint64_t flags, uint64_t mode);
void take_truncate(const Call&, uint64_t path, uint64_t size);
void take_call(const Call&);
void take_connect(const Call&);
void take_bind(const Call&);
void take_socket(const Call&);
void take_socketpair(const Call&);
void take_unlink(const Call&, int dirfd, uint64_t path);
// For a folder that is to move: 0; -EPERM, with the rule, when something protected is in it; -EXDEV
// when that can't be told.
long holds_protected(const Spot& at, long folder, uint32_t& rule);
// The same for what would come with it to a place where an older folder stood.
long brings_protected(const Spot& from, const Spot& to, uint32_t& rule);
void take_umask_of(const Call&);
uint32_t refuse_write(const Call&, const Spot&);  // tells, and answers EPERM
// The same for what is `there`, at a name above a protected one: the `.git` of a submodule is a
// file, and leads to the repository.
bool refuse_older_above(const Call&, const Spot&, long there);
// The same for a file that is to be made there, when the name begins in an older folder.
bool refuse_new_file(const Call&, const Spot&);

// ---- threads (serve.cpp) ------------------------------------------------------------------------

// Before a call that may wait for somebody else: sees to it that another thread listens. False when
// too many wait already.
bool begin_waiting(const Call&);
void end_waiting(const Call&);
// From the look at names to the change of one there is nobody else of the warden's: what was judged
// is what is changed. Ends with the call, and when it begins to wait.
void begin_change(const Call&);

inline uint32_t text_size(const char* text) {
  uint32_t n = 0;
  while (text[n]) ++n;
  return n;
}
inline void copy_bytes(void* to, const void* from, uint32_t size) {
  __builtin_memcpy(to, from, size);
}
// Decimal, NUL-ended; its length.
inline uint32_t put_number(char* to, uint64_t value) {
  char digits[20];
  uint32_t n = 0, size = 0;
  do digits[n++] = static_cast<char>('0' + value % 10);
  while (value /= 10);
  while (n) to[size++] = digits[--n];
  to[size] = 0;
  return size;
}
inline bool same(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}
inline void close_fd(long fd) {
  if (fd >= 0) sys_call(SYS_close, fd);
}
// O_PATH; -ENOENT is the only answer that says that nothing has the name.
inline long look_at(long folder, const char* name) {
  return sys_call(SYS_openat, folder, name, long{O_PATH | O_NOFOLLOW | O_CLOEXEC});
}

}  // namespace caisson::warden

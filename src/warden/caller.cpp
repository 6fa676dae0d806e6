// Looking at the process that waits: its words, its folders, its umask.
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "warden/state.h"

namespace caisson::warden {

namespace {

constexpr uint32_t kPathMax = 4096, kPage = 4096, kFirstChunk = 256;

void set_sight(bool on) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  sets[0].permitted = 1u << CAP_SYS_PTRACE;
  sets[0].effective = on ? sets[0].permitted : 0;
  sys_call(SYS_capset, &header, sets);
}

// "/proc/TID/" and `rest`.
void proc_path(const Call& call, const char* rest, char* to) {
  copy_bytes(to, "/proc/", 6);
  uint32_t at = 6 + put_number(to + 6, static_cast<uint64_t>(call.thread));
  to[at++] = '/';
  copy_bytes(to + at, rest, text_size(rest) + 1);
}

void folder_path(const Call& call, int dirfd, char* to) {
  if (dirfd == AT_FDCWD) return proc_path(call, "cwd", to);
  proc_path(call, "fd/", to);
  put_number(to + text_size(to), static_cast<uint64_t>(dirfd));
}

// A process that is not dumpable (an agent that holds keys) shows itself to CAP_SYS_PTRACE only,
// and where Yama is on so does every process that is no child of ours.
template <typename Look>
long look(Look once) {
  long result = once();
  if ((result != -EPERM && result != -EACCES) || !warden.may_look) return result;
  raise_sight();
  result = once();
  lower_sight();
  return result;
}

long read_proc(const Call& call, const char* name, char* to, uint32_t size) {
  char path[64];
  proc_path(call, name, path);
  long fd =
      look([&] { return sys_call(SYS_openat, long{AT_FDCWD}, path, long{O_RDONLY | O_CLOEXEC}); });
  if (fd < 0) return fd;
  long got = sys_call(SYS_read, fd, to, long{size - 1});
  close_fd(fd);
  to[got < 0 ? 0 : got] = 0;
  return got;
}

// A umask is asked for only once somebody has changed one, and then once for each thread until the
// next change. A number that came back to another thread gives that one's files a wrong mode at
// worst, among files of the same owner.
struct Known {
  int thread;
  uint32_t generation;
  int mask;
};
constexpr uint32_t kKnown = 64;
Known known[kKnown];
uint32_t generation;  // 0: nobody has changed it

}  // namespace

long labelled(const char* text, const char* label, unsigned base) {
  uint32_t size = text_size(label);
  for (const char* line = text; *line;) {
    bool here = true;
    for (uint32_t i = 0; i < size && here; ++i) here = line[i] == label[i];
    if (here) {
      const char* at = line + size;
      while (*at == ' ' || *at == '\t') ++at;
      long value = 0;
      while (*at >= '0' && *at <= '9') value = value * static_cast<long>(base) + (*at++ - '0');
      return value;
    }
    while (*line && *line != '\n') ++line;
    if (*line) ++line;
  }
  return -1;
}

void raise_sight() { set_sight(true); }
void lower_sight() { set_sight(false); }

long read_memory(const Call& call, uint64_t address, void* to, uint32_t size) {
  iovec mine{to, size}, theirs{reinterpret_cast<void*>(address), size};
  return look([&] {
    return sys_call(SYS_process_vm_readv, long{call.thread}, &mine, 1L, &theirs, 1L, 0L);
  });
}

long write_memory(const Call& call, uint64_t address, const void* from, uint32_t size) {
  iovec mine{const_cast<void*>(from), size}, theirs{reinterpret_cast<void*>(address), size};
  long done = look([&] {
    return sys_call(SYS_process_vm_writev, long{call.thread}, &mine, 1L, &theirs, 1L, 0L);
  });
  return done < 0 || done == long{size} ? done : -EFAULT;
}

long read_path(const Call& call, uint64_t address, char* to) {
  for (uint32_t at = 0; at < kPathMax;) {
    // Never over the end of a page in one piece: what lies behind may not be there.
    uint32_t chunk = static_cast<uint32_t>(kPage - ((address + at) & (kPage - 1)));
    if (at == 0 && chunk > kFirstChunk) chunk = kFirstChunk;
    if (chunk > kPathMax - at) chunk = kPathMax - at;
    long got = read_memory(call, address + at, to + at, chunk);
    if (got < 0) return got == -EPERM || got == -ESRCH ? got : -EFAULT;
    if (got == 0) return -EFAULT;
    for (uint32_t end = at + static_cast<uint32_t>(got); at < end; ++at)
      if (to[at] == 0) return at == 0 ? -ENOENT : static_cast<long>(at);
  }
  return -ENAMETOOLONG;
}

// A number can be another process's by now: what was read counts only if the call still waits.
bool still_waiting(const Call& call) {
  uint64_t id = call.id;
  return sys_call(SYS_ioctl, long{warden.listener}, static_cast<long>(SECCOMP_IOCTL_NOTIF_ID_VALID),
                  &id) == 0;
}

// The same thread asks again and again: the link to its folder is kept open. It is that thread's
// for good; when the thread is gone it leads nowhere (EACCES), and whoever has the number now gets
// a new one.
static long own_folder_text(const Call& call, char* to, uint32_t size) {
  Seen& seen = *call.seen;
  long got = -ESRCH;
  for (int tries = 0; tries < 2; ++tries) {
    if (seen.thread != call.thread) {
      char path[64];
      proc_path(call, "cwd", path);
      close_fd(seen.folder);
      seen.folder =
          sys_call(SYS_openat, long{AT_FDCWD}, path, long{O_PATH | O_NOFOLLOW | O_CLOEXEC});
      seen.thread = seen.folder < 0 ? 0 : call.thread;
      if (seen.folder < 0) return seen.folder;
    }
    got = look([&] { return sys_call(SYS_readlinkat, seen.folder, "", to, long{size - 1}); });
    if (got >= 0) return to[got] = 0, got;
    seen.thread = 0;
  }
  return got;
}

long caller_folder_text(const Call& call, int dirfd, char* to, uint32_t size) {
  if (dirfd == AT_FDCWD) return own_folder_text(call, to, size);
  if (dirfd < 0) return -EBADF;
  char path[64];
  folder_path(call, dirfd, path);
  long got =
      look([&] { return sys_call(SYS_readlinkat, long{AT_FDCWD}, path, to, long{size - 1}); });
  if (got == -ENOENT) return -EBADF;
  if (got >= 0) to[got] = 0;
  return got;
}

long open_caller_folder(const Call& call, int dirfd) {
  if (dirfd < 0 && dirfd != AT_FDCWD) return -EBADF;
  char path[64];
  folder_path(call, dirfd, path);
  long fd =
      look([&] { return sys_call(SYS_openat, long{AT_FDCWD}, path, long{O_PATH | O_CLOEXEC}); });
  return fd == -ENOENT && dirfd != AT_FDCWD ? -EBADF : fd;
}

void umask_changes() { __atomic_add_fetch(&generation, 1, __ATOMIC_SEQ_CST); }

long caller_umask(const Call& call) {
  uint32_t now = __atomic_load_n(&generation, __ATOMIC_SEQ_CST);
  if (now == 0) return -1;
  Known& slot = known[static_cast<uint32_t>(call.thread) % kKnown];
  if (slot.thread == call.thread && slot.generation == now) return slot.mask;
  char text[4096];
  if (read_proc(call, "status", text, sizeof text) < 0) return -1;
  long mask = labelled(text, "Umask:", 8);
  if (mask >= 0) slot = {call.thread, now, static_cast<int>(mask)};
  return mask;
}

long caller_process(const Call& call) {
  char text[4096];
  if (read_proc(call, "status", text, sizeof text) < 0) return -1;
  return labelled(text, "Tgid:", 10);
}

// /dev/tty is another one for each session: the caller's, by its number. proc(5): tty_nr is the
// seventh field of stat, the fifth after the name in brackets.
long caller_terminal(const Call& call) {
  char text[1024];
  if (read_proc(call, "stat", text, sizeof text) < 0) return -1;
  const char* at = text;
  for (const char* c = text; *c; ++c)
    if (*c == ')') at = c;
  for (int field = 0; *at && field < 5; ++at) field += *at == ' ';
  long number = 0;
  while (*at >= '0' && *at <= '9') number = number * 10 + (*at++ - '0');
  long major = number >> 8 & 0xfff, minor = (number & 0xff) | (number >> 12 & 0xfff00);
  return major >= 136 && major <= 143 ? (major - 136) * 256 + minor : -1;
}

}  // namespace caisson::warden

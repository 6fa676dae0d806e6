#include "launch/cgroup_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson {

namespace {

constexpr long kPidfdSendSignal = 424;
constexpr size_t kPidsPerPass = 64;

// A descriptor that is closed without errno.
class RawFd {
 public:
  RawFd(int dir, const char* name, int flags)
      : fd_(sys_call(SYS_openat, dir, name, flags | O_CLOEXEC, 0)) {}
  explicit RawFd(long fd) : fd_(fd) {}
  RawFd(const RawFd&) = delete;
  RawFd& operator=(const RawFd&) = delete;
  ~RawFd() { close(); }
  long get() const { return fd_; }
  void replace(long fd) {
    close();
    fd_ = fd;
  }
  long release() {
    long fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  void close() {
    if (fd_ >= 0) sys_call(SYS_close, fd_);
  }
  long fd_;
};

void sleep_microseconds(long microseconds) {
  timespec time{microseconds / 1000000, microseconds % 1000000 * 1000};
  sys_call(SYS_nanosleep, &time, 0);
}

struct PidList {
  int pids[kPidsPerPass];
  size_t count = 0;
};

// The numbers in cgroup.procs, one after the other, however many there are; 0 stands for a process
// of another pid namespace and is left out.
class Members {
 public:
  explicit Members(int folder) : file_(folder, "cgroup.procs", O_RDONLY) {}

  // 0: no more of them.
  int next() {
    int pid = 0;
    for (char c = take(); c != 0; c = take()) {
      if (c >= '0' && c <= '9')
        pid = pid * 10 + (c - '0');
      else if (pid > 0)
        break;
    }
    return pid;
  }

 private:
  char take() {
    if (at_ >= size_) {
      at_ = 0;
      size_ = file_.get() < 0 ? 0 : sys_call(SYS_read, file_.get(), text_, sizeof text_);
    }
    return at_ < size_ ? text_[at_++] : '\0';
  }
  RawFd file_;
  char text_[512];
  long size_ = 0, at_ = 0;
};

void read_some(Members& from, PidList& list) {
  for (list.count = 0; list.count < kPidsPerPass; ++list.count)
    if ((list.pids[list.count] = from.next()) == 0) return;
}

// A number read from cgroup.procs may belong to a stranger by the time it is used. So: take pidfds,
// read the list again, and signal only those still on it; a pidfd of a process that died meanwhile
// reaches nobody.
void kill_listed(int folder, const PidList& list) {
  long pidfds[kPidsPerPass];
  bool still_there[kPidsPerPass] = {};
  for (size_t i = 0; i < list.count; ++i) pidfds[i] = sys_call(kernel::kPidfdOpen, list.pids[i], 0);
  Members again(folder);
  while (int pid = again.next())
    for (size_t i = 0; i < list.count; ++i) still_there[i] |= list.pids[i] == pid;
  for (size_t i = 0; i < list.count; ++i) {
    if (pidfds[i] < 0) continue;
    if (still_there[i]) sys_call(kPidfdSendSignal, pidfds[i], SIGKILL, 0, 0);
    sys_call(SYS_close, pidfds[i]);
  }
}

void move_members_up(int folder, int parent) {
  PidList members;
  Members all(folder);
  read_some(all, members);
  for (size_t i = 0; i < members.count; ++i) {
    char digits[12];
    size_t at = sizeof digits;
    for (int rest = members.pids[i]; rest > 0; rest /= 10)
      digits[--at] = static_cast<char>('0' + rest % 10);
    write_cgroup_file(parent, "cgroup.procs", {digits + at, sizeof digits - at});
  }
}

struct KernelDirent {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

// Copies the name of the first folder below `directory` that is none of "." and ".."; false: none.
bool first_subfolder(long directory, char (&name)[256]) {
  alignas(KernelDirent) char buffer[2048];
  sys_call(SYS_lseek, directory, 0, SEEK_SET);
  for (;;) {
    long size = sys_call(SYS_getdents64, directory, buffer, sizeof buffer);
    if (size <= 0) return false;
    for (long at = 0; at < size;) {
      auto* entry = reinterpret_cast<KernelDirent*>(buffer + at);
      at += entry->length;
      if (entry->type != DT_DIR || entry->name[0] == '.') continue;
      size_t length = 0;
      while (entry->name[length] && length + 1 < sizeof name) {
        name[length] = entry->name[length];
        ++length;
      }
      name[length] = 0;
      return true;
    }
  }
}

// Removes one folder that has none below it, by walking down from `name`. One at a time, holding
// two descriptors: however deep a program nested them, the walk needs no more.
bool remove_one_below(int parent, const char* name) {
  RawFd at(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  RawFd above(-1);
  char below[256];
  bool found = false;
  char last[256] = {};
  while (at.get() >= 0 && first_subfolder(at.get(), below)) {
    found = true;
    __builtin_memcpy(last, below, sizeof last);
    long next =
        sys_call(SYS_openat, at.get(), below, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    above.replace(at.release());
    at.replace(next);
  }
  if (!found || at.get() < 0) return false;
  kill_cgroup_members(static_cast<int>(at.get()));
  return sys_call(SYS_unlinkat, above.get(), last, AT_REMOVEDIR) == 0;
}

}  // namespace

long write_cgroup_file(int folder, const char* file, std::string_view text) {
  RawFd fd(folder, file, O_WRONLY);
  if (fd.get() < 0) return fd.get();
  return sys_call(SYS_write, fd.get(), text.data(), text.size());
}

long read_cgroup_file(int folder, const char* file, std::span<char> buffer) {
  RawFd fd(folder, file, O_RDONLY);
  if (fd.get() < 0) return fd.get();
  return sys_call(SYS_read, fd.get(), buffer.data(), buffer.size());
}

// Whoever dies slowly stays on the list, so it is gone through to its end: the first few of it
// could hide the others for as long as they take.
bool kill_cgroup_members_once(int folder) {
  constexpr int kMostParts = 64;
  if (write_cgroup_file(folder, "cgroup.kill", "1") > 0) return true;
  Members all(folder);
  PidList part;
  bool found = false;
  for (int i = 0; i < kMostParts; ++i) {
    read_some(all, part);
    if (part.count == 0) break;
    found = true;
    kill_listed(folder, part);
  }
  return found;
}

void kill_cgroup_members(int folder) {
  constexpr int kPasses = 256;
  if (write_cgroup_file(folder, "cgroup.kill", "1") > 0) return;
  for (int pass = 0; pass < kPasses && kill_cgroup_members_once(folder); ++pass)
    sleep_microseconds(200);
}

bool remove_cgroup_folder(int parent, const char* name, unsigned wait_milliseconds) {
  constexpr int kMostBelow = 10000;  // a program that makes folders as we remove them does not win
  long waited = 0, pause = 100;
  int removed_below = 0;
  for (;;) {
    long result = sys_call(SYS_unlinkat, parent, name, AT_REMOVEDIR);
    if (result == 0 || result == -ENOENT) return true;
    if (result != -EBUSY && result != -ENOTEMPTY) return false;
    if (removed_below < kMostBelow && remove_one_below(parent, name)) {
      ++removed_below;
      continue;
    }
    if (waited >= long{wait_milliseconds} * 1000) return false;
    sleep_microseconds(pause);
    waited += pause;
    if (pause < 10000) pause *= 2;
  }
}

bool leave_supervisor_leaf(int parent, const char* leaf) {
  RawFd folder(parent, leaf, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (folder.get() < 0) return folder.get() == -ENOENT;
  struct stat info;
  // A folder of cgroupfs counts 2 links and one for each folder below it.
  if (sys_call(SYS_newfstatat, parent, "", &info, AT_EMPTY_PATH) != 0 || info.st_nlink > 3)
    return false;
  char enabled[256], disable[512];
  long size = read_cgroup_file(parent, "cgroup.subtree_control", enabled);
  size_t used = 0;
  for (long i = 0; i < size; ++i) {
    if (i == 0 || enabled[i - 1] == ' ') disable[used++] = '-';
    if (enabled[i] != '\n') disable[used++] = enabled[i];
  }
  if (used > 0) write_cgroup_file(parent, "cgroup.subtree_control", {disable, used});
  move_members_up(static_cast<int>(folder.get()), parent);
  return remove_cgroup_folder(parent, leaf, 100);
}

}  // namespace caisson

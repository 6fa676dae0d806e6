#include "session/remover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <vector>

#include <fmt/format.h>

#include "base/scope_exit.h"
#include "session/state_folders.h"

namespace caisson::session {

namespace {

constexpr int kDeepest = 24;  // each level holds a descriptor and a buffer
// A folder that had very many names keeps their blocks when they are gone, and each of those is
// read to find nothing: a byte of it costs more than one of a file, whose blocks nobody looks into.
constexpr uint64_t kFolderWeight = 16;
constexpr int kTries = 3;  // for a folder that is written to while it is emptied
constexpr int kMostPasses = 1'000'000, kFruitless = 100;
constexpr size_t kMostAtOnce = 100'000;
constexpr timespec kPause{0, 50'000'000};

bool is_entry(const char* name) {
  return !(name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0)));
}

}  // namespace

// chmod(2) by the number of an O_PATH descriptor: by name it would follow a link that a process
// which is about to die has just put there.
UniqueFd open_for_removal(int at, const char* name) {
  UniqueFd found{::openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  struct stat info;
  if (!found || ::fstat(found.get(), &info) != 0) return {};
  if ((info.st_mode & 0700) != 0700)
    ::chmod(fmt::format("/proc/self/fd/{}", found.get()).c_str(), 0700);
  return UniqueFd{::openat(found.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

bool Remover::spend(uint64_t bytes) {
  if (bytes > left_.bytes) return false;
  left_.bytes -= bytes;
  return true;
}

bool Remover::remove_at(int folder, const char* name, int depth) {
  if (left_.entries == 0) return false;
  --left_.entries;
  struct stat info;
  if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  if (!S_ISDIR(info.st_mode)) {
    if (!spend(static_cast<uint64_t>(info.st_blocks) * 512)) return false;
    bool gone = ::unlinkat(folder, name, 0) == 0;
    removed_ += gone;
    return gone || errno == ENOENT;
  }
  if (!spend(kFolderWeight * static_cast<uint64_t>(info.st_size))) return false;
  UniqueFd inside = open_for_removal(folder, name);
  if (!inside) return false;
  if (depth >= kDeepest) return move_up(folder, name);
  for (int i = 0; i < kTries; ++i) {
    if (!remove_inside(inside.get(), depth + 1)) return false;
    if (::unlinkat(folder, name, AT_REMOVEDIR) == 0) return ++removed_, true;
    if (errno == ENOENT) return true;
  }
  return false;
}

bool Remover::remove_inside(int folder, int depth) {
  DIR* stream = ::fdopendir(::fcntl(folder, F_DUPFD_CLOEXEC, 3));
  if (!stream) return false;
  ScopeExit close([&] { ::closedir(stream); });
  ::rewinddir(stream);
  bool all = true;
  while (const dirent* entry = ::readdir(stream)) {
    if (!is_entry(entry->d_name)) continue;
    all = remove_at(folder, entry->d_name, depth) && all;
    if (left_.entries == 0) return false;
  }
  return all;
}

// True, as it is gone from here: it is an entry of the trash now, with a name that no cell chose.
bool Remover::move_up(int folder, const char* name) {
  for (int i = 0; i < 100; ++i) {
    std::string to = fmt::format("deep-{}-{}", ::getpid(), moved_++);
    if (::renameat2(folder, name, trash_, to.c_str(), RENAME_NOREPLACE) == 0) return ++removed_;
    if (errno != EEXIST) return false;
  }
  return false;
}

// Who puts something in looks whether the lock is held, and starts a process if it isn't: so the
// lock is given up after each look, and the last one finds nothing.
bool empty_trash(int trash) {
  int fruitless = 0;
  for (int pass = 0; pass < kMostPasses && fruitless < kFruitless; ++pass) {
    if (::flock(trash, LOCK_EX | LOCK_NB) != 0) return true;  // another one is at work
    std::vector<std::string> names = names_in(trash, kMostAtOnce);
    Remover remover(trash, {});
    for (const std::string& name : names) remover.remove(name);
    ::flock(trash, LOCK_UN);
    if (names.empty() && names_in(trash, kMostAtOnce).empty()) return true;
    fruitless = remover.removed() ? 0 : fruitless + 1;
    if (fruitless) ::nanosleep(&kPause, nullptr);  // for its last processes to be gone
  }
  return false;
}

int empty_trash_command() {
  struct stat info;
  bool ours = ::fstat(kTrashFd, &info) == 0 && S_ISDIR(info.st_mode) &&
              info.st_uid == ::geteuid() && (info.st_mode & 0077) == 0;
  if (!ours) return 1;
  constexpr int kWhoProcess = 1, kIdle = 3 << 13;
  ::setpriority(PRIO_PROCESS, 0, 19);
  ::syscall(SYS_ioprio_set, kWhoProcess, 0, kIdle);
  return empty_trash(kTrashFd) ? 0 : 1;
}

}  // namespace caisson::session

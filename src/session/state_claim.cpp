#include "session/state_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "session/cell_words.h"
#include "session/state_folders.h"

namespace caisson::session {

namespace {

constexpr std::string_view kClaimLockEnd = ".lock";
constexpr int kMostTries = 16;
constexpr size_t kMostClaimNames = 100'000, kLongestNote = 4096;

std::string lock_name(const std::string& name) { return name + std::string(kClaimLockEnd); }

Result<UniqueFd> open_parent(const std::string& path) {
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!fd) return Error::system("open " + printable(path));
  return fd;
}

// Who clears away removes the file while he has its lock: one that is got afterwards is of a file
// that no other process can find.
bool is_still_there(int parent, const std::string& name, int fd) {
  struct stat named, held;
  return ::fstat(fd, &held) == 0 &&
         ::fstatat(parent, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

// nullopt: another process has it.
Result<std::optional<UniqueFd>> lock_file(int parent, const std::string& name, int how) {
  for (int i = 0; i < kMostTries; ++i) {
    UniqueFd fd{::openat(parent, name.c_str(),
                         O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600)};
    if (!fd) return Error::system("open " + printable(name));
    if (::flock(fd.get(), how | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::optional<UniqueFd>();
      return Error::system("lock " + printable(name));
    }
    if (is_still_there(parent, name, fd.get())) return std::optional<UniqueFd>(std::move(fd));
  }
  return Error::plain(fmt::format("{}: it is being cleared away", printable(name)));
}

// By a descriptor of its own: who was taken over still has that of the lock, and must not be able
// to send the next one to a socket of his.
void write_note(int parent, const std::string& name, std::string_view note) {
  UniqueFd fd{::openat(parent, name.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC)};
  if (fd) (void)!::write(fd.get(), note.data(), std::min(note.size(), kLongestNote));
}

// Each state in the folder that no process has, and none has had since `before`, under its lock.
// True of the deed: its lock goes.
using Deed = std::function<bool(int parent, const std::string& name)>;
void for_each_unclaimed(const std::string& path, int64_t before, const Deed& deed) {
  Result<UniqueFd> parent = open_parent(path);
  if (!parent) return;
  for (const std::string& file : names_in(parent->get(), kMostClaimNames)) {
    if (!file.ends_with(kClaimLockEnd)) continue;
    std::string name = file.substr(0, file.size() - kClaimLockEnd.size());
    UniqueFd fd{
        ::openat(parent->get(), file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
    struct stat info;
    // Its age first: who starts just now must not find it locked by us.
    if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_mtime >= before || !check_name(name).ok() ||
        ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || !is_still_there(parent->get(), file, fd.get()))
      continue;
    if (deed(parent->get(), name))
      ::unlinkat(parent->get(), file.c_str(), 0);
    else
      ::futimens(fd.get(), nullptr);  // looked at, and not again for a while
  }
}

// What is left of a state of long ago; true when that is nothing.
bool clear_old(int parent, const std::string& name, Trash& trash) {
  Result<UniqueFd> state = open_folder_below(parent, name);
  if (!state) return state.error().errnum == ENOENT;
  for (const char* one : {"own", "rooms"})
    if (!trash.take(state->get(), one).ok()) return false;
  for (const char* one : {"workspaces", "branches", "forks"}) {
    Result<UniqueFd> folder = open_folder_below(state->get(), one);
    if (!folder) continue;
    // An empty folder is that of a session without files. What isn't empty, rmdir(2) leaves.
    for (const std::string& each : names_in(folder->get(), kMostClaimNames))
      ::unlinkat(folder->get(), each.c_str(), AT_REMOVEDIR);
    if (::unlinkat(state->get(), one, AT_REMOVEDIR) != 0) return false;
  }
  return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0;
}

}  // namespace

Result<std::optional<StateClaim>> claim_state(const std::string& parent, const std::string& name,
                                              Sharing sharing, std::string_view note) {
  TRY(check_name(name));
  UniqueFd above = TRY(open_parent(parent));
  bool alone = sharing == Sharing::kAlone;
  std::optional<UniqueFd> lock =
      TRY(lock_file(above.get(), lock_name(name), alone ? LOCK_EX : LOCK_SH));
  if (!lock) return std::optional<StateClaim>();
  ::futimens(lock->get(), nullptr);  // its age is that of its last use
  if (!note.empty()) write_note(above.get(), lock_name(name), note);
  TRY(private_folder(above.get(), name));
  return std::optional<StateClaim>({fmt::format("{}/{}", parent, name), std::move(*lock)});
}

std::string note_on_claim(const std::string& parent, const std::string& name) {
  std::string path = fmt::format("{}/{}", parent, lock_name(name));
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
  char text[kLongestNote];
  ssize_t got = fd ? ::read(fd.get(), text, sizeof text) : 0;
  return std::string(text, static_cast<size_t>(std::max<ssize_t>(got, 0)));
}

Result<StateClaim> claim_passing_state(const std::string& parent) {
  for (int i = 0; i < kMostTries; ++i) {
    unsigned char raw[8];
    if (::getrandom(raw, sizeof raw, 0) != sizeof raw) return Error::system("get random bytes");
    std::optional<StateClaim> claim = TRY(claim_state(parent, hex(raw), Sharing::kAlone));
    if (claim) return std::move(*claim);  // else somebody took it for a dead one's just now
  }
  return Error::plain("no state folder to be had");
}

void sweep_passing_states(const std::string& parent, Trash& trash) {
  for_each_unclaimed(parent, INT64_MAX,
                     [&](int at, const std::string& name) { return trash.take(at, name).ok(); });
}

void sweep_old_states(const std::string& parent, int64_t now_unix, Trash& trash) {
  for_each_unclaimed(parent, now_unix - kStateSeconds,
                     [&](int at, const std::string& name) { return clear_old(at, name, trash); });
}

void drop_passing_state(const std::string& folder, Trash& trash) {
  size_t slash = folder.rfind('/');
  Result<UniqueFd> parent = open_parent(folder.substr(0, slash));
  std::string name = folder.substr(slash + 1);
  if (parent && trash.take(parent->get(), name).ok())
    ::unlinkat(parent->get(), lock_name(name).c_str(), 0);
}

}  // namespace caisson::session

#include "session/rooms.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/control.h"
#include "base/scope_exit.h"
#include "base/text.h"
#include "session/cell_maker.h"
#include "session/cell_words.h"

namespace caisson::session {

namespace {

constexpr std::string_view kLockEnd = ".lock";
constexpr size_t kPrefix = 16;  // hexadecimal digits, of the process; the rest is of the fork
constexpr size_t kMostMoved = 100'000, kLargestNotes = 1 << 20;

Result<UniqueFd> open_folder(int at, const char* path) {
  UniqueFd fd(::openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return Error::system("open " + printable(path));
  return fd;
}

std::vector<std::string> names_in(const UniqueFd& folder) {
  std::vector<std::string> names;
  DIR* stream = ::fdopendir(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 3));
  if (!stream) return names;
  ScopeExit close([&] { ::closedir(stream); });
  ::rewinddir(stream);
  while (const dirent* entry = ::readdir(stream)) {
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    if (names.size() > kMostMoved) break;
  }
  return names;
}

std::string workspaces_of(const std::string& state_folder) { return state_folder + "/workspaces"; }

std::string read_notes(const std::string& room) {
  UniqueFd fd(::open((room + "/sessions").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::string text;
  char piece[4096];
  for (ssize_t got; fd && text.size() < kLargestNotes;) {
    got = ::read(fd.get(), piece, sizeof piece);
    if (got <= 0) break;
    text.append(piece, static_cast<size_t>(got));
  }
  return text;
}

// Every session that is noted in it; the folder goes then.
void keep_room(const std::string& state_folder, const std::string& room, Trash& trash) {
  std::string notes = read_notes(room);
  for (std::string_view line : split(notes, '\n')) {
    size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    std::string name(line.substr(0, space)), below(line.substr(space + 1));
    bool known = below == "files" || below == "layers/" + name;
    if (known && check_name(name).ok())
      (void)keep_workspace(state_folder, name, room, below, trash);  // it may have ended before
  }
  (void)trash.take(room);
}

// A zygote's folder, of many rooms. Its name has a dash; that of a room has none.
void keep_rooms(const std::string& state_folder, const std::string& folder, Trash& trash) {
  if (Result<UniqueFd> opened = open_folder(AT_FDCWD, folder.c_str()))
    for (const std::string& room : names_in(*opened))
      keep_room(state_folder, fmt::format("{}/{}", folder, room), trash);
  (void)trash.take(folder);
}

// The prefixes of processes that live. Locks of those that don't are removed.
std::set<std::string> living(const std::string& forks, const std::vector<std::string>& names) {
  std::set<std::string> prefixes;
  for (const std::string& name : names) {
    if (!name.ends_with(kLockEnd)) continue;
    std::string path = fmt::format("{}/{}", forks, name);
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (fd && (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 || !control_enabled("session-room-lock")))
      ::unlink(path.c_str());
    else
      prefixes.insert(name.substr(0, name.size() - kLockEnd.size()));
  }
  return prefixes;
}

}  // namespace

Result<ForksClaim> ForksClaim::make(const std::string& forks_folder) {
  unsigned char raw[kPrefix / 2];
  if (::getrandom(raw, sizeof raw, 0) != sizeof raw) return Error::system("get random bytes");
  std::string prefix = hex(raw), draft = fmt::format("{}/{}.new", forks_folder, prefix);
  std::string path = fmt::format("{}/{}{}", forks_folder, prefix, kLockEnd);
  UniqueFd fd(::open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::system("make " + draft);
  // Locked before it has the name that others look for: they would take it for a dead one's.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return Error::system("lock " + draft);
  if (::rename(draft.c_str(), path.c_str()) != 0) return Error::system("make " + path);
  return ForksClaim(std::move(fd), std::move(path), std::move(prefix));
}

ForksClaim::~ForksClaim() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<void> make_room(const std::string& room) {
  for (const std::string& path : {room, room + "/files", room + "/layers"})
    if (::mkdir(path.c_str(), 0700) != 0) return Error::system("make " + path);
  return {};
}

Result<void> note_session(const std::string& room, std::string_view name, std::string_view below) {
  std::string path = room + "/sessions";
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  std::string line = fmt::format("{} {}\n", name, below);
  if (!fd || ::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return Error::system("write " + path);
  return {};
}

Result<void> keep_workspace(const std::string& state_folder, const std::string& name,
                            const std::string& room, const std::string& below, Trash& trash) {
  std::string kept = workspaces_of(state_folder);
  TRY(make_private_folder(kept));
  kept += "/" + name;
  std::string from = fmt::format("{}/{}", room, below);
  struct stat info;
  bool looks = control_enabled("session-room-links");
  if (::lstat(from.c_str(), &info) != 0 || (looks && !S_ISDIR(info.st_mode)))
    return Error::plain(fmt::format("session {}: its files are gone", name));
  TRY(trash.take(kept));
  if (::rename(from.c_str(), kept.c_str()) != 0) return Error::system("keep " + from);
  if (!looks) return {};
  // A cell could put a link in its place while we looked; in here it can't.
  if (::lstat(kept.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
      ::chmod(kept.c_str(), 0700) == 0)
    return {};
  ::unlink(kept.c_str());
  return Error::plain(fmt::format("session {}: its files are gone", name));
}

Result<bool> take_up_workspace(const std::string& state_folder, const std::string& name,
                               const std::string& into) {
  std::string kept = fmt::format("{}/{}", workspaces_of(state_folder), name);
  Result<UniqueFd> from = open_folder(AT_FDCWD, kept.c_str());
  if (!from) return false;
  UniqueFd to = TRY(open_folder(AT_FDCWD, into.c_str()));
  for (const std::string& entry : names_in(*from))
    if (::renameat2(from->get(), entry.c_str(), to.get(), entry.c_str(), RENAME_NOREPLACE) != 0)
      return Error::system(fmt::format("take up {}/{}", kept, printable(entry)));
  if (::rmdir(kept.c_str()) != 0) return Error::system("remove " + kept);
  return true;
}

size_t sweep_rooms(const std::string& state_folder, Trash& trash) {
  std::string forks = state_folder + "/forks";
  Result<UniqueFd> folder = open_folder(AT_FDCWD, forks.c_str());
  // One of us at a time; the other does what there is to do.
  if (!folder || ::flock(folder->get(), LOCK_EX | LOCK_NB) != 0) return 0;
  std::vector<std::string> names = names_in(*folder);
  // The locks are read after the folders: one that came meanwhile isn't among the names.
  std::set<std::string> alive = living(forks, names_in(*folder));
  size_t swept = 0;
  for (const std::string& name : names) {
    if (name.ends_with(kLockEnd) || name.ends_with(".new")) continue;
    if (alive.contains(name.substr(0, kPrefix))) continue;
    std::string path = fmt::format("{}/{}", forks, name);
    name.find('-') == std::string::npos ? keep_room(state_folder, path, trash)
                                        : keep_rooms(state_folder, path, trash);
    ++swept;
  }
  return swept;
}

}  // namespace caisson::session

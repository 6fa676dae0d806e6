#include "session/rooms.h"

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
#include "base/text.h"
#include "session/cell_maker.h"
#include "session/cell_words.h"
#include "session/remover.h"

namespace caisson::session {

namespace {

constexpr std::string_view kLockEnd = ".lock";
constexpr size_t kPrefix = 16;  // hexadecimal digits, of the process; the rest is of the fork
constexpr size_t kMostMoved = 100'000, kLargestNotes = 1 << 20;

std::string read_notes(int room) {
  UniqueFd fd(::openat(room, "sessions", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
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
void keep_room(const StateFolders& folders, int parent, const std::string& name, Trash& trash) {
  std::string notes;
  Result<UniqueFd> room = open_folder_below(parent, name);
  if (room) notes = read_notes(room->get());
  for (std::string_view line : split(notes, '\n')) {
    size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    std::string session(line.substr(0, space)), below(line.substr(space + 1));
    bool known = below == "files" || below == "layers/" + session;
    if (known && check_name(session).ok())
      (void)keep_workspace(folders, session, room->get(), below,
                           trash);  // it may have ended before
  }
  (void)trash.take(parent, name);
}

// A zygote's folder, of many rooms. Its name has a dash; that of a room has none.
void keep_rooms(const StateFolders& folders, const std::string& name, Trash& trash) {
  if (Result<UniqueFd> opened = open_folder_below(folders.forks(), name))
    for (const std::string& room : names_in(opened->get(), kMostMoved))
      keep_room(folders, opened->get(), room, trash);
  (void)trash.take(folders.forks(), name);
}

// The prefixes of processes that live. Locks of those that don't are removed.
std::set<std::string> living(int forks, const std::vector<std::string>& names) {
  std::set<std::string> prefixes;
  for (const std::string& name : names) {
    if (!name.ends_with(kLockEnd)) continue;
    UniqueFd fd(::openat(forks, name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (fd && (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 || !control_enabled("session-room-lock")))
      ::unlinkat(forks, name.c_str(), 0);
    else
      prefixes.insert(name.substr(0, name.size() - kLockEnd.size()));
  }
  return prefixes;
}

bool is_room_folder(int at, const std::string& name) {
  struct stat info;
  return ::fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

Result<ForksClaim> ForksClaim::make(int forks) {
  unsigned char raw[kPrefix / 2];
  if (::getrandom(raw, sizeof raw, 0) != sizeof raw) return Error::system("get random bytes");
  std::string prefix = hex(raw), draft = prefix + ".new", name = prefix + std::string(kLockEnd);
  UniqueFd own{::fcntl(forks, F_DUPFD_CLOEXEC, 3)};
  if (!own) return Error::system("duplicate the folder of forks");
  UniqueFd fd(
      ::openat(forks, draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::system("make forks/" + draft);
  // Locked before it has the name that others look for: they would take it for a dead one's.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return Error::system("lock forks/" + draft);
  if (::renameat(forks, draft.c_str(), forks, name.c_str()) != 0)
    return Error::system("make forks/" + name);
  return ForksClaim(std::move(fd), std::move(own), std::move(prefix));
}

ForksClaim::~ForksClaim() {
  if (forks_) ::unlinkat(forks_.get(), (prefix_ + std::string(kLockEnd)).c_str(), 0);
}

Result<void> make_room(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0) return Error::system("make the room " + name);
  UniqueFd room = TRY(open_folder_below(parent, name));
  for (const char* part : {"files", "layers"})
    if (::mkdirat(room.get(), part, 0700) != 0)
      return Error::system(fmt::format("make {} of the room {}", part, name));
  return {};
}

Result<void> note_session(int room, std::string_view name, std::string_view below) {
  // O_NONBLOCK: the room lies in a zygote's cell, and a FIFO would hold us for ever.
  constexpr int kHow = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  UniqueFd fd(::openat(room, "sessions", kHow, 0600));
  std::string line = fmt::format("{} {}\n", name, below);
  if (!fd || ::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return Error::system("note a session in its room");
  return {};
}

Result<void> keep_workspace(const StateFolders& folders, const std::string& name, int room,
                            const std::string& below, Trash& trash) {
  bool is_branch = below != "files";
  UniqueFd parent = TRY(open_folder_below(room, is_branch ? "layers" : "."));
  const std::string from = is_branch ? name : below;
  int to = is_branch ? folders.branches() : folders.workspaces();
  bool looks = control_enabled("session-room-links");
  Error gone = Error::plain(fmt::format("session {}: its files are gone", name));
  if (looks && !is_room_folder(parent.get(), from)) return gone;
  for (int place : {folders.branches(), folders.workspaces()}) TRY(trash.take(place, name));
  if (::renameat2(parent.get(), from.c_str(), to, name.c_str(), RENAME_NOREPLACE) != 0)
    return Error::system("keep the files of " + name);
  if (!looks) return {};
  // A cell could put a link in its place while we looked; in here it can't.
  Result<UniqueFd> kept = open_folder_below(to, name);
  if (kept && ::chmod(fmt::format("/proc/self/fd/{}", kept->get()).c_str(), 0700) == 0) return {};
  ::unlinkat(to, name.c_str(), 0);
  return gone;
}

Result<bool> take_up_workspace(const StateFolders& folders, const std::string& name, int room) {
  if (!is_room_folder(folders.workspaces(), name)) return false;
  // Onto the empty folder that the room has: rename(2) takes it away.
  auto move = [&] { return ::renameat(folders.workspaces(), name.c_str(), room, "files") == 0; };
  if (move()) return true;
  if (errno == EACCES && open_for_removal(folders.workspaces(), name.c_str()) && move())
    return true;  // one that its owner may not write to
  return Error::system("take up workspaces/" + name);
}

size_t sweep_rooms(const StateFolders& folders, Trash& trash) {
  int forks = folders.forks();
  Result<UniqueFd> folder = readable(forks);
  // One of us at a time; the other does what there is to do.
  if (!folder || ::flock(folder->get(), LOCK_EX | LOCK_NB) != 0) return 0;
  std::vector<std::string> names = names_in(forks, kMostMoved);
  // The locks are read after the folders: one that came meanwhile isn't among the names.
  std::set<std::string> alive = living(forks, names_in(forks, kMostMoved));
  size_t swept = 0;
  for (const std::string& name : names) {
    if (name.ends_with(kLockEnd) || name.ends_with(".new")) continue;
    if (alive.contains(name.substr(0, kPrefix))) continue;
    name.find('-') == std::string::npos ? keep_room(folders, forks, name, trash)
                                        : keep_rooms(folders, name, trash);
    ++swept;
  }
  return swept;
}

}  // namespace caisson::session

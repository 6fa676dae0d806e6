#include "session/state_folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/scope_exit.h"
#include "base/text.h"
#include "session/cell_words.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson::session {

namespace {

constexpr std::string_view kOwn = "own";
constexpr size_t kMostOld = 100'000;
constexpr int kMostStateLooks = 8;

Result<void> check_private(int folder, const std::string& path) {
  struct stat info;
  if (::fstat(folder, &info) != 0) return Error::system("look at " + printable(path));
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || info.st_mode & 0077)
    return Error::plain(fmt::format("{}: not a folder of ours alone", printable(path)),
                        "make it mode 0700, or name another one");
  return {};
}

Result<UniqueFd> open_private(const std::string& path) {
  UniqueFd folder{::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!folder) return Error::system("open " + printable(path));
  TRY(check_private(folder.get(), path));
  return folder;
}

bool is_scope_lock(std::string_view name) {
  constexpr std::string_view kEnd = ".lock";
  constexpr size_t kScope = 16;
  return name.size() == kScope + kEnd.size() && name.ends_with(kEnd) &&
         name.find_first_not_of("0123456789abcdef") == kScope;
}

// Where they lay before there was this folder.
void move_old_files(int state, int own) {
  for (const std::string& name : names_in(state, kMostOld))
    if (name.ends_with(".snapshot") || name == "sessions.json" || is_scope_lock(name))
      ::renameat2(state, name.c_str(), own, name.c_str(), RENAME_NOREPLACE);
}

}  // namespace

std::string own_folder(const std::string& state_folder) {
  return fmt::format("{}/{}", state_folder, kOwn);
}

Result<UniqueFd> open_folder_below(int at, const std::string& names) {
  kernel::OpenHow how{O_PATH | O_DIRECTORY | O_CLOEXEC, 0, 0};
  if (control_enabled("session-state-links"))
    how.resolve =
        kernel::kResolveBeneath | kernel::kResolveNoSymlinks | kernel::kResolveNoMagicLinks;
  long fd = -EAGAIN;
  // EAGAIN: something was renamed while the kernel looked (openat2(2)).
  for (int i = 0; i < kMostStateLooks && fd == -EAGAIN; ++i)
    fd = sys_call(kernel::kOpenat2, long{at}, names.c_str(), &how, long{sizeof how});
  if (fd < 0) return Error::from_errno("open " + printable(names), static_cast<int>(-fd));
  return UniqueFd{static_cast<int>(fd)};
}

Result<UniqueFd> private_folder(int at, const std::string& name) {
  if (::mkdirat(at, name.c_str(), 0700) != 0 && errno != EEXIST)
    return Error::system("make " + printable(name));
  UniqueFd folder = TRY(open_folder_below(at, name));
  TRY(check_private(folder.get(), name));
  return folder;
}

Result<UniqueFd> readable(int folder) {
  UniqueFd fd{::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd) return Error::system("open a folder");
  return fd;
}

Result<StateFolders> StateFolders::open(const std::string& path, const std::string& top) {
  UniqueFd state = TRY(open_private(path));
  StateFolders all;
  all.path_ = path;
  all.forks_ = TRY(private_folder(state.get(), "forks"));
  all.rooms_ = TRY(private_folder(state.get(), "rooms"));
  all.workspaces_ = TRY(private_folder(state.get(), "workspaces"));
  all.branches_ = TRY(private_folder(state.get(), "branches"));
  UniqueFd above;
  if (!top.empty()) above = TRY(open_private(top));
  all.trash_ = TRY(private_folder(above ? above.get() : state.get(), "trash"));
  bool is_new = ::faccessat(state.get(), kOwn.data(), F_OK, AT_SYMLINK_NOFOLLOW) != 0;
  UniqueFd own = TRY(private_folder(state.get(), std::string(kOwn)));
  if (is_new) move_old_files(state.get(), own.get());
  return all;
}

std::string_view StateFolders::below(std::string_view path) const {
  if (!path.starts_with('/')) return path;
  bool is_in = path.size() > path_.size() && path.starts_with(path_) && path[path_.size()] == '/';
  return is_in ? path.substr(path_.size() + 1) : std::string_view();
}

Result<UniqueFd> StateFolders::open_room(std::string_view room) const {
  std::vector<std::string_view> parts = split(below(room), '/');
  bool in_forks = parts[0] == "forks";
  bool known = in_forks ? parts.size() == 3 : parts[0] == "rooms" && parts.size() == 2;
  for (std::string_view one : parts) known = known && check_name(one).ok();
  if (!known) return Error::plain("a room that there is not");
  std::string names(parts[1]);
  if (in_forks) names = fmt::format("{}/{}", names, parts[2]);
  return open_folder_below(in_forks ? forks() : rooms(), names);
}

Result<UniqueFd> StateFolders::open_workspace(std::string_view path, bool or_branch) const {
  Error none = Error::plain("a folder that is no workspace of a session's");
  std::string_view names = below(path);
  std::vector<std::string_view> parts = split(names, '/');
  for (std::string_view one : parts) TRY(check_name(one));
  if (parts[0] == "workspaces" && parts.size() == 2)
    return open_folder_below(workspaces(), std::string(parts[1]));
  size_t room = parts[0] == "forks" ? 3 : parts[0] == "rooms" ? 2 : 0;
  if (room == 0 || parts.size() <= room || parts.size() > room + 2) return none;
  bool is_deep = parts.size() == room + 2;
  bool known = parts[room] == "layers" || (parts[room] == "files" && !is_deep);
  if (!known || (is_deep && !or_branch)) return none;
  size_t length = static_cast<size_t>(parts[room].data() - names.data()) - 1;
  UniqueFd opened = TRY(open_room(names.substr(0, length)));
  return open_folder_below(opened.get(), std::string(names.substr(length + 1)));
}

std::vector<int> StateFolders::descriptors() const {
  return {forks(), rooms(), workspaces(), branches(), trash()};
}

std::vector<std::string> names_in(int folder, size_t most) {
  std::vector<std::string> names;
  Result<UniqueFd> listed = readable(folder);
  DIR* stream = listed ? ::fdopendir(listed->get()) : nullptr;
  if (!stream) return names;
  listed->release();
  ScopeExit close([&] { ::closedir(stream); });
  while (const dirent* entry = names.size() < most ? ::readdir(stream) : nullptr) {
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

}  // namespace caisson::session

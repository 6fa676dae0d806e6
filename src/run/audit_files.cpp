#include "run/audit_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

namespace caisson {

namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

Error refuse(const std::string& path, const char* why) {
  return Error::plain(fmt::format("audit log {}: {}", path, why),
                      "move it away or mend its owner and mode, or set XDG_STATE_HOME to a folder "
                      "that is yours alone");
}

// Whoever can write to it could change the record, or swap it for another.
Result<void> check_own(int fd, const std::string& path, mode_t type) {
  struct stat st {};
  if (::fstat(fd, &st) < 0) return Error::system("stat " + path);
  if ((st.st_mode & S_IFMT) != type) return refuse(path, "not a regular file");
  if (st.st_uid != ::geteuid()) return refuse(path, "belongs to another user");
  if (st.st_mode & (S_IWGRP | S_IWOTH)) return refuse(path, "can be written by others");
  return {};
}

// The folder under which the missing ones are made. It may be the system's (/, /home, /tmp), but
// nobody else may be able to put another folder in our new one's place.
Result<void> check_parent(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) < 0) return Error::system("stat " + path);
  if (st.st_uid != ::geteuid() && st.st_uid != 0) return refuse(path, "belongs to another user");
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX))
    return refuse(path, "can be written by others");
  return {};
}

Error open_error(const std::string& path, int errnum) {
  if (errnum == ELOOP || errnum == ENOTDIR)
    return refuse(path, "a link or no folder stands in its place");
  return Error::from_errno("audit log " + path, errnum)
      .with_hint("set XDG_STATE_HOME to a folder that you can write");
}

std::string parent_folder_of(const std::string& path) {
  size_t slash = path.find_last_of('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

Result<UniqueFd> make_folder(const std::string& path) {
  std::string above = parent_folder_of(path);
  UniqueFd parent{::open(above.c_str(), kFolderFlags)};
  if (!parent && errno == ENOENT && above != "/")
    parent = TRY(make_folder(above));
  else if (!parent)
    return open_error(above, errno);
  else
    TRY(check_parent(parent.get(), above));
  std::string name = path.substr(path.find_last_of('/') + 1);
  // EEXIST is another caisson that was quicker, or a link laid in wait: O_NOFOLLOW tells.
  if (::mkdirat(parent.get(), name.c_str(), 0700) < 0 && errno != EEXIST)
    return open_error(path, errno);
  UniqueFd made{::openat(parent.get(), name.c_str(), kFolderFlags | O_NOFOLLOW)};
  if (!made) return open_error(path, errno);
  TRY(check_own(made.get(), path, S_IFDIR));
  return made;
}

}  // namespace

Result<UniqueFd> open_own_folder(const std::string& path) {
  if (!path.starts_with('/') || path.size() < 2 || path.ends_with('/'))
    return refuse(path, "its folder is no absolute path");
  UniqueFd folder{::open(path.c_str(), kFolderFlags | O_NOFOLLOW)};
  if (!folder && errno == ENOENT) return make_folder(path);
  if (!folder) return open_error(path, errno);
  TRY(check_own(folder.get(), path, S_IFDIR));
  return folder;
}

Result<UniqueFd> open_own_file(int folder, const char* name, int extra_flags,
                               const std::string& shown_path) {
  int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | extra_flags;
  UniqueFd file{::openat(folder, name, flags, 0600)};
  if (!file) return open_error(shown_path, errno);
  TRY(check_own(file.get(), shown_path, S_IFREG));
  return file;
}

}  // namespace caisson

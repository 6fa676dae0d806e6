#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "host/probe.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson {

static FileIdentity identity_of(const struct stat& info) {
  FileIdentity identity{FileIdentity::Kind::kOther, info.st_dev, info.st_ino, false};
  if (S_ISREG(info.st_mode)) identity.kind = FileIdentity::Kind::kFile;
  if (S_ISDIR(info.st_mode)) identity.kind = FileIdentity::Kind::kDirectory;
  if (S_ISSOCK(info.st_mode)) identity.kind = FileIdentity::Kind::kSocket;
  return identity;
}

std::optional<FileIdentity> RealHostFiles::look(const std::string& path) const {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  FileIdentity identity = identity_of(info);
  identity.executable = S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
  return identity;
}

// One name at a time, where openat2 is refused (an outer filter, as that of a cell).
static UniqueFd open_name_by_name(const std::string& path) {
  UniqueFd at{::open("/", O_PATH | O_CLOEXEC)};
  for (std::string_view name : split(path, '/')) {
    if (name.empty()) continue;
    UniqueFd next{::openat(at.get(), std::string(name).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    struct stat info;
    if (!next || ::fstat(next.get(), &info) != 0 || S_ISLNK(info.st_mode)) return UniqueFd();
    at = std::move(next);
  }
  return at;
}

std::optional<FileIdentity> RealHostFiles::look_exactly(const std::string& path) const {
  kernel::OpenHow how{O_PATH | O_CLOEXEC, 0,
                      kernel::kResolveNoSymlinks | kernel::kResolveNoMagicLinks};
  long opened = sys_call(kernel::kOpenat2, long{AT_FDCWD}, path.c_str(), &how, long{sizeof how});
  UniqueFd fd = opened == -ENOSYS ? open_name_by_name(path) : UniqueFd(static_cast<int>(opened));
  struct stat info;
  if (!fd || ::fstat(fd.get(), &info) != 0) return std::nullopt;
  return identity_of(info);
}

std::optional<std::string> RealHostFiles::canonical(const std::string& path) const {
  char resolved[PATH_MAX];
  if (!::realpath(path.c_str(), resolved)) return std::nullopt;
  return std::string(resolved);
}

// readlink(2): EINVAL is what is there and no link.
HostFiles::Name RealHostFiles::name_at(const std::string& path) const {
  char byte;
  if (::readlink(path.c_str(), &byte, 1) >= 0) return Name::kLink;
  return errno == EINVAL ? Name::kPlain : Name::kMissing;
}

std::optional<std::string> RealHostFiles::link_target(const std::string& path) const {
  char target[PATH_MAX];
  ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  if (size <= 0 || size == sizeof target) return std::nullopt;
  return std::string(target, static_cast<size_t>(size));
}

// A device or a pipe that was planted in the file's place does something as soon as it is opened
// (T13): it is looked at first, and what is opened then is the very file that was looked at.
static UniqueFd open_regular(const std::string& path, int links, struct stat& info) {
  int looking = control_enabled("regular-files") ? O_PATH : O_RDONLY | O_NONBLOCK | O_NOCTTY;
  UniqueFd found{::open(path.c_str(), looking | O_CLOEXEC | links)};
  if (!found || ::fstat(found.get(), &info) != 0 || !S_ISREG(info.st_mode)) return UniqueFd();
  std::string again = fmt::format("/proc/self/fd/{}", found.get());
  // O_NONBLOCK: a lease on it would have us wait (fcntl(2)).
  return UniqueFd{::open(again.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
}

// What the kernel tells a process of itself: nobody plants anything there.
static UniqueFd open_own_proc(const std::string& path, struct stat& info) {
  info.st_size = 0;
  return UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
}

static std::optional<std::string> read_regular(const std::string& path, int links, size_t limit) {
  struct stat info;
  UniqueFd fd =
      path.starts_with("/proc/self/") ? open_own_proc(path, info) : open_regular(path, links, info);
  if (!fd) return std::nullopt;
  // As much as it claims to hold and one more, so that the usual file takes one read and no
  // growing; what /proc claims is 0, and some of its files answer the first read only.
  size_t expected = std::max<size_t>(static_cast<size_t>(info.st_size) + 1, 4096);
  std::string content(std::min(limit, expected), '\0');
  size_t size = 0;
  while (size < limit) {
    if (size == content.size()) content.resize(std::min(limit, size * 2 + 1));
    ssize_t got = ::read(fd.get(), content.data() + size, content.size() - size);
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  content.resize(size);
  return content;
}

std::optional<std::string> RealHostFiles::read(const std::string& path, size_t limit) const {
  return read_regular(path, 0, limit);
}

std::optional<std::string> RealHostFiles::read_plain(const std::string& path, size_t limit) const {
  return read_regular(path, O_NOFOLLOW, limit);
}

bool RealHostFiles::make_directory(const std::string& path) const {
  return ::mkdir(path.c_str(), 0700) == 0;
}

std::optional<FileIdentity> PretendingHostFiles::look(const std::string& path) const {
  if (!made_.empty() && path == made_) return real_.look(path.substr(0, path.rfind('/') + 1));
  return real_.look(path);
}

std::optional<FileIdentity> PretendingHostFiles::look_exactly(const std::string& path) const {
  return !made_.empty() && path == made_ ? look(path) : real_.look_exactly(path);
}

std::optional<std::string> PretendingHostFiles::canonical(const std::string& path) const {
  return !made_.empty() && path == made_ ? path : real_.canonical(path);
}

std::optional<std::string> PretendingHostFiles::link_target(const std::string& path) const {
  return real_.link_target(path);
}

std::optional<std::string> PretendingHostFiles::read(const std::string& path, size_t limit) const {
  return real_.read(path, limit);
}

std::optional<std::string> PretendingHostFiles::read_plain(const std::string& path,
                                                           size_t limit) const {
  return real_.read_plain(path, limit);
}

bool PretendingHostFiles::make_directory(const std::string& path) const {
  made_ = path;
  return true;
}

}  // namespace caisson

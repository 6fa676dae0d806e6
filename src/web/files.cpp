#include "web/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fmt/format.h>

#include "base/control.h"
#include "base/large_folder.h"
#include "base/scope_exit.h"
#include "base/text.h"
#include "web/utf8.h"

namespace caisson::web {
namespace {

namespace json = boost::json;

constexpr size_t kLongestName = 255;
constexpr int kMostLooks = 8;

std::string shown(const Workspace::Parts& parts) {
  return parts.empty() ? "/workspace" : printable("/workspace/" + join(parts, "/"));
}

int open_at(int folder, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  if (control_enabled("web-beneath"))
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: something moved while the kernel looked (openat2(2)), and it is asked again. But it
  // also means that a program in the cell holds a lease on the file, for as long as it likes.
  long fd = -1;
  for (int i = 0; i < kMostLooks; ++i) {
    fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return static_cast<int>(fd);
}

Error refused(const Workspace::Parts& parts, std::string_view doing) {
  int why = errno;
  if (why == ELOOP || why == EXDEV)
    return {fmt::format("{} leads through a link", shown(parts)),
            "links in a workspace are never followed", EACCES};
  if (why == EAGAIN)
    return {fmt::format("{} is in use", shown(parts)),
            "a program in the session holds a lease on it, or moves folders above it", EAGAIN};
  return Error::from_errno(fmt::format("{} {}", doing, shown(parts)), why);
}

Result<void> check_names(const Workspace::Parts& parts) {
  for (const std::string& part : parts)
    if (part.empty() || part == "." || part == ".." || part.size() > kLongestName ||
        part.find('/') != part.npos || part.find('\0') != part.npos)
      return Error{fmt::format("{} is not a path in the workspace", shown(parts)), {}, EINVAL};
  return {};
}

std::string_view type_of(mode_t mode) {
  if (S_ISREG(mode)) return "file";
  if (S_ISDIR(mode)) return "folder";
  return S_ISLNK(mode) ? "link" : "other";
}

std::string draft_name() {
  unsigned char bytes[12];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) ::abort();
  return ".caisson-" + hex(bytes);
}

Result<void> write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Error::system("write to the workspace");
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

Result<std::string> read_whole(int fd, uint64_t limit) {
  std::string text;
  for (;;) {
    size_t before = text.size(), step = 256 * 1024;
    text.resize(before + step);
    ssize_t got = ::read(fd, text.data() + before, step);
    text.resize(before + static_cast<size_t>(got > 0 ? got : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::system("read from the workspace");
    if (got == 0) return text;
    // It may grow while it is read.
    if (text.size() > limit)
      return Error{"the file is too large", fmt::format("at most {} bytes", limit), EFBIG};
  }
}

}  // namespace

Result<Workspace> Workspace::open(const std::string& folder) {
  if (folder.empty()) return Error{"this session has no workspace on the host", {}, ENOENT};
  UniqueFd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return Error::system("open the workspace");
  return Workspace(std::move(fd));
}

Result<UniqueFd> Workspace::open_beneath(const Parts& parts, int flags) const {
  TRY(check_names(parts));
  UniqueFd fd(open_at(folder_.get(), parts.empty() ? "." : join(parts, "/"), flags));
  if (!fd) return refused(parts, "open");
  return fd;
}

Result<UniqueFd> Workspace::open_parent(const Parts& parts, bool make) const {
  TRY(check_names(parts));
  if (parts.empty()) return Error{"that is the workspace itself", {}, EINVAL};
  UniqueFd at(open_at(folder_.get(), ".", O_PATH | O_DIRECTORY));
  if (!at) return refused(parts, "open");
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (make && ::mkdirat(at.get(), parts[i].c_str(), 0777) < 0 && errno != EEXIST)
      return refused(parts, "make the folder of");
    // One name at a time, from a descriptor: a folder that is swapped for a link is refused.
    UniqueFd next(open_at(at.get(), parts[i], O_PATH | O_DIRECTORY));
    if (!next) return refused(parts, "open");
    at = std::move(next);
  }
  return at;
}

Result<bool> Workspace::is_folder(const Parts& parts) const {
  UniqueFd fd = TRY(open_beneath(parts, O_PATH | O_NOFOLLOW));
  struct stat found {};
  if (::fstat(fd.get(), &found) < 0) return Error::system("look at " + shown(parts));
  return S_ISDIR(found.st_mode);
}

Result<json::array> Workspace::list(const Parts& parts) const {
  UniqueFd fd = TRY(open_beneath(parts, O_RDONLY | O_DIRECTORY));
  if (is_too_large_to_list(fd.get()))
    return Error{fmt::format("{} is too large a folder to be listed", shown(parts)),
                 "name the files in it", E2BIG};
  DIR* stream = ::fdopendir(fd.get());
  if (!stream) return Error::system("list " + shown(parts));
  fd.release();
  ScopeExit close([&] { ::closedir(stream); });
  json::array entries;
  while (const dirent* entry = ::readdir(stream)) {
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entries.size() == kMostEntries)
      return Error{
          fmt::format("{} has more than {} entries", shown(parts), kMostEntries), {}, E2BIG};
    struct stat found {};
    if (::fstatat(::dirfd(stream), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) < 0) continue;
    entries.push_back(json::object{{"name", lossy_utf8(name)},
                                   {"type", type_of(found.st_mode)},
                                   {"size", found.st_size},
                                   {"modified", found.st_mtim.tv_sec}});
  }
  return entries;
}

Result<std::string> Workspace::read(const Parts& parts) const {
  // O_NONBLOCK: a FIFO in the file's place would hold us for ever.
  UniqueFd fd = TRY(open_beneath(parts, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat found {};
  if (::fstat(fd.get(), &found) < 0) return Error::system("look at " + shown(parts));
  if (!S_ISREG(found.st_mode))
    return Error{fmt::format("{} is no plain file", shown(parts)), {}, EACCES};
  if (static_cast<uint64_t>(found.st_size) > kLargestFile)
    return Error{fmt::format("{} is too large", shown(parts)),
                 fmt::format("at most {} bytes", kLargestFile), EFBIG};
  return read_whole(fd.get(), kLargestFile);
}

Result<void> Workspace::write(const Parts& parts, std::string_view bytes) const {
  UniqueFd parent = TRY(open_parent(parts, true));
  std::string draft = draft_name();
  UniqueFd fd(::openat(parent.get(), draft.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd) return refused(parts, "write");
  Result<void> written = write_whole(fd.get(), bytes);
  // rename(2) replaces a link at that name by the file, and doesn't follow it.
  if (written.ok() &&
      ::renameat(parent.get(), draft.c_str(), parent.get(), parts.back().c_str()) == 0)
    return {};
  Error why = written.ok() ? refused(parts, "write") : written.error();
  ::unlinkat(parent.get(), draft.c_str(), 0);
  return why;
}

Result<void> Workspace::remove(const Parts& parts) const {
  UniqueFd parent = TRY(open_parent(parts, false));
  const char* name = parts.back().c_str();
  if (::unlinkat(parent.get(), name, 0) == 0) return {};
  if (errno == EISDIR && ::unlinkat(parent.get(), name, AT_REMOVEDIR) == 0) return {};
  return refused(parts, "remove");
}

std::string path_of(const Workspace::Parts& parts) {
  std::string path;
  for (const std::string& part : parts) path += "/" + part;
  return path;
}

Result<session::FileAnswer> work_on_file(const session::FileOrder& order) {
  Workspace workspace = TRY(Workspace::open(order.folder));
  Workspace::Parts parts;
  if (!order.path.empty() && !order.path.starts_with('/'))
    return Error{"a path below the workspace begins with /", {}, EINVAL};
  if (!order.path.empty())
    for (std::string_view part : split(std::string_view(order.path).substr(1), '/'))
      parts.emplace_back(part);
  session::FileAnswer answer;
  switch (order.deed) {
    case session::FileDeed::kWrite:
      TRY(workspace.write(parts, order.bytes));
      return answer;
    case session::FileDeed::kRemove:
      TRY(workspace.remove(parts));
      return answer;
    case session::FileDeed::kLook:
      answer.is_listing = TRY(workspace.is_folder(parts));
      answer.bytes = answer.is_listing
                         ? json::serialize(json::object{{"files", TRY(workspace.list(parts))}})
                         : TRY(workspace.read(parts));
      return answer;
  }
  return Error{"a deed that isn't known", {}, EINVAL};
}

}  // namespace caisson::web

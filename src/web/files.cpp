#include "web/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/control.h"
#include "base/large_folder.h"
#include "base/scope_exit.h"
#include "base/text.h"
#include "session/frames.h"
#include "web/utf8.h"

namespace caisson::web {
namespace {

namespace json = boost::json;

constexpr size_t kLongestName = 255;
constexpr int kMostLooks = 8;

std::string shown_file(const Workspace::Parts& parts) {
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
    return {fmt::format("{} leads through a link", shown_file(parts)),
            "links in a workspace are never followed", EACCES};
  if (why == EAGAIN)
    return {fmt::format("{} is in use", shown_file(parts)),
            "a program in the session holds a lease on it, or moves folders above it", EAGAIN};
  return Error::from_errno(fmt::format("{} {}", doing, shown_file(parts)), why);
}

Result<void> check_names(const Workspace::Parts& parts) {
  for (const std::string& part : parts)
    if (part.empty() || part == "." || part == ".." || part.size() > kLongestName ||
        part.find('/') != part.npos || part.find('\0') != part.npos)
      return Error{fmt::format("{} is not a path in the workspace", shown_file(parts)), {}, EINVAL};
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

// The whole of `from`, which may grow meanwhile. Where it stands is for others to say: not used.
Task<Result<void>> copy(session::Slices& slices, int from, int to, uint64_t limit) {
  constexpr size_t kPiece = 1 << 20;
  for (off_t done = 0;;) {
    ssize_t moved = ::sendfile(to, from, &done, kPiece);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) co_return Error::system("copy a file of the workspace");
    if (moved == 0) co_return Result<void>();
    if (static_cast<uint64_t>(done) > limit)
      co_return Error{"the file is too large", fmt::format("at most {} bytes", limit), EFBIG};
    if (slices.over()) co_await slices.turn();
  }
}

json::object entry_of(std::string_view name, const struct stat& found) {
  return {{"name", lossy_utf8(name)},
          {"type", type_of(found.st_mode)},
          {"size", found.st_size},
          {"modified", found.st_mtim.tv_sec}};
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
  if (::fstat(fd.get(), &found) < 0) return Error::system("look at " + shown_file(parts));
  return S_ISDIR(found.st_mode);
}

Task<Result<UniqueFd>> Workspace::list(session::Slices& slices, Parts parts) const {
  Result<UniqueFd> fd = open_beneath(parts, O_RDONLY | O_DIRECTORY);
  if (!fd) co_return fd.error();
  if (is_too_large_to_list(fd->get()))
    co_return Error{fmt::format("{} is too large a folder to be listed", shown_file(parts)),
                    "name the files in it", E2BIG};
  DIR* stream = ::fdopendir(fd->get());
  if (!stream) co_return Error::system("list " + shown_file(parts));
  fd->release();
  ScopeExit close([stream] { ::closedir(stream); });
  std::string text = "{\"files\":[";
  size_t entries = 0;
  while (const dirent* entry = ::readdir(stream)) {
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entries == kMostEntries)
      co_return Error{
          fmt::format("{} has more than {} entries", shown_file(parts), kMostEntries), {}, E2BIG};
    struct stat found {};
    if (::fstatat(::dirfd(stream), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) < 0) continue;
    text += (entries++ ? "," : "") + json::serialize(entry_of(name, found));
    if (slices.over()) co_await slices.turn();
  }
  co_return session::sealed_memfd("caisson-file", text + "]}");
}

Result<UniqueFd> Workspace::open_file(const Parts& parts) const {
  // O_NONBLOCK: a FIFO in the file's place would hold us for ever.
  UniqueFd fd = TRY(open_beneath(parts, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat found {};
  if (::fstat(fd.get(), &found) < 0) return Error::system("look at " + shown_file(parts));
  if (!S_ISREG(found.st_mode))
    return Error{fmt::format("{} is no plain file", shown_file(parts)), {}, EACCES};
  if (static_cast<uint64_t>(found.st_size) > kLargestFile)
    return Error{fmt::format("{} is too large", shown_file(parts)),
                 fmt::format("at most {} bytes", kLargestFile), EFBIG};
  return fd;
}

Task<Result<UniqueFd>> Workspace::read(session::Slices& slices, Parts parts) const {
  Result<UniqueFd> from = open_file(parts);
  if (!from) co_return from.error();
  Result<UniqueFd> to = session::unsealed_memfd("caisson-file");
  if (!to) co_return to.error();
  Result<void> done = co_await copy(slices, from->get(), to->get(), kLargestFile);
  if (done) done = session::seal(to->get());
  if (!done) co_return done.error();
  co_return to;
}

Task<Result<void>> Workspace::write(session::Slices& slices, Parts parts, int bytes) const {
  Result<UniqueFd> parent = open_parent(parts, true);
  if (!parent) co_return parent.error();
  std::string draft = draft_name();
  UniqueFd fd(::openat(parent->get(), draft.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd) co_return refused(parts, "write");
  Result<void> written = co_await copy(slices, bytes, fd.get(), kLargestFile);
  // rename(2) replaces a link at that name by the file, and doesn't follow it.
  if (written.ok() &&
      ::renameat(parent->get(), draft.c_str(), parent->get(), parts.back().c_str()) == 0)
    co_return Result<void>();
  Error why = written.ok() ? refused(parts, "write") : written.error();
  ::unlinkat(parent->get(), draft.c_str(), 0);
  co_return why;
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

namespace {

Result<Workspace::Parts> parts_of(const std::string& path) {
  Workspace::Parts parts;
  if (path.empty()) return parts;
  if (!path.starts_with('/')) return Error{"a path below the workspace begins with /", {}, EINVAL};
  for (std::string_view part : split(std::string_view(path).substr(1), '/'))
    parts.emplace_back(part);
  return parts;
}

Task<Result<UniqueFd>> do_job(session::Slices& slices, const Workspace& workspace,
                              const Workspace::Parts& parts, const session::FileJob& job,
                              bool is_folder) {
  Result<void> done = Error{"a deed that isn't known", {}, EINVAL};
  if (job.deed == session::FileDeed::kLook && is_folder)
    co_return co_await workspace.list(slices, parts);
  if (job.deed == session::FileDeed::kLook) co_return co_await workspace.read(slices, parts);
  if (job.deed == session::FileDeed::kWrite)
    done = co_await workspace.write(slices, parts, job.bytes.get());
  if (job.deed == session::FileDeed::kRemove) done = workspace.remove(parts);
  if (!done) co_return done.error();
  co_return session::sealed_memfd("caisson-file", "");
}

}  // namespace

Task<Result<session::FileDone>> work_on_file(Loop& loop, session::FileJob job) {
  session::Slices slices(loop);
  Result<Workspace> workspace = Workspace::open(job.folder);
  if (!workspace) co_return workspace.error();
  Result<Workspace::Parts> parts = parts_of(job.path);
  if (!parts) co_return parts.error();
  Result<bool> is_folder = false;
  if (job.deed == session::FileDeed::kLook) is_folder = workspace->is_folder(*parts);
  if (!is_folder) co_return is_folder.error();
  Result<UniqueFd> bytes = co_await do_job(slices, *workspace, *parts, job, *is_folder);
  if (!bytes) co_return bytes.error();
  co_return session::FileDone{*is_folder, std::move(*bytes)};
}

}  // namespace caisson::web

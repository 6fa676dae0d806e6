#include "session/branch_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/large_folder.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "session/remover.h"
#include "session/slices.h"

namespace caisson::session {

namespace {

constexpr off_t kPiece = 1 << 20;

struct CloseStream {
  void operator()(DIR* stream) const { ::closedir(stream); }
};
using Stream = std::unique_ptr<DIR, CloseStream>;

Stream list(int folder) {
  UniqueFd fd{::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  Stream stream(fd ? ::fdopendir(fd.get()) : nullptr);
  if (stream) fd.release();
  return stream;
}

// O_NONBLOCK: what was a file may be a FIFO now, or have a lease on it (fcntl(2)). One that its
// owner may not read is given that right, by the number of a descriptor: a name could be a link.
UniqueFd open_file(int at, const char* name) {
  constexpr int kHow = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  UniqueFd fd{::openat(at, name, kHow | O_NOFOLLOW)};
  if (fd || errno != EACCES) return fd;
  UniqueFd found{::openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  struct stat info;
  if (!found || ::fstat(found.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string path = fmt::format("/proc/self/fd/{}", found.get());
  ::chmod(path.c_str(), 0600);
  return UniqueFd{::open(path.c_str(), kHow)};
}

// Everything in it is the cell's to change while it is copied: each step is by descriptor, follows
// no link, and is bounded.
class Copier {
 public:
  Copier(int from, int to, const CopyBounds& bounds) : bounds_(bounds) {
    push(UniqueFd{::fcntl(from, F_DUPFD_CLOEXEC, 3)}, UniqueFd{::fcntl(to, F_DUPFD_CLOEXEC, 3)},
         {});
  }

  // One entry, or one piece of a large file. False: there is nothing more to do.
  bool step() {
    if (file_.from) return copy_piece(), true;
    if (folders_.empty()) return false;
    const dirent* entry = ::readdir(folders_.back().stream.get());
    if (!entry) return pop(), true;
    std::string name = entry->d_name;
    if (name == "." || name == "..") return true;
    if (++entries_ > bounds_.entries) return miss("too many entries"), folders_.clear(), false;
    copy_entry(name);
    return true;
  }

  Result<void> outcome() const {
    if (missing_.empty()) return {};
    return Error::plain("left out: " + missing_);
  }

 private:
  struct Folder {
    UniqueFd from, to;
    Stream stream;
    struct stat info;
  };
  struct File {
    UniqueFd from, to;
    std::string name;
    struct stat info;
    off_t at = 0;
  };

  void miss(const std::string& why) {
    if (missing_.empty()) missing_ = why;
  }
  void miss_entry(const std::string& name) { miss(Error::system(printable(name)).what); }

  void push(UniqueFd from, UniqueFd to, const struct stat& info) {
    if (!from || !to) return miss("a folder that could not be opened");
    if (is_too_large_to_list(from.get())) return miss("a folder that is too large to be listed");
    Stream stream = list(from.get());
    if (!stream) return miss("a folder that could not be listed");
    folders_.push_back({std::move(from), std::move(to), std::move(stream), info});
  }

  // Rights and times last: a folder without the right to write could not be filled.
  void pop() {
    Folder& done = folders_.back();
    if (folders_.size() > 1) finish(done.to.get(), done.info);
    folders_.pop_back();
  }

  static void finish(int fd, const struct stat& info) {
    ::fchmod(fd, info.st_mode & 0777);
    timespec times[] = {info.st_atim, info.st_mtim};
    ::futimens(fd, times);
  }

  void copy_entry(const std::string& name) {
    Folder& in = folders_.back();
    struct stat info;
    if (::fstatat(in.from.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return miss_entry(name);
    if (S_ISDIR(info.st_mode)) return enter(name, info);
    if (S_ISREG(info.st_mode)) return begin_file(name, info);
    if (S_ISLNK(info.st_mode)) copy_link(name);
  }

  void enter(const std::string& name, const struct stat& info) {
    Folder& in = folders_.back();
    if (folders_.size() >= bounds_.depth) return miss(printable(name) + ": too deep");
    UniqueFd from = open_for_removal(in.from.get(), name.c_str());  // whatever its mode
    if (!from || ::mkdirat(in.to.get(), name.c_str(), 0700) != 0) return miss_entry(name);
    UniqueFd to{
        ::openat(in.to.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    push(std::move(from), std::move(to), info);
  }

  void copy_link(const std::string& name) {
    Folder& in = folders_.back();
    char target[PATH_MAX];
    ssize_t size = ::readlinkat(in.from.get(), name.c_str(), target, sizeof target);
    if (size <= 0 || size == static_cast<ssize_t>(sizeof target)) return miss_entry(name);
    std::string text(target, static_cast<size_t>(size));
    if (::symlinkat(text.c_str(), in.to.get(), name.c_str()) != 0) miss_entry(name);
  }

  void begin_file(const std::string& name, const struct stat& seen) {
    Folder& in = folders_.back();
    File file;
    file.name = name;
    file.from = open_file(in.from.get(), name.c_str());
    if (!file.from || ::fstat(file.from.get(), &file.info) != 0) return miss_entry(name);
    if (!S_ISREG(file.info.st_mode)) return;
    file.info.st_mode = seen.st_mode;
    file.to.reset(::openat(in.to.get(), name.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.to || ::ftruncate(file.to.get(), file.info.st_size) != 0) return miss_entry(name);
    file_ = std::move(file);
  }

  // Holes stay holes; what it grows by meanwhile is left.
  void copy_piece() {
    int from = file_.from.get(), to = file_.to.get();
    off_t start = ::lseek(from, file_.at, SEEK_DATA);
    if (start < 0 && errno != ENXIO) miss_entry(file_.name);
    if (start < 0 || start >= file_.info.st_size) return end_file();
    off_t wanted = std::min(kPiece, file_.info.st_size - start), into = start;
    if (static_cast<uint64_t>(wanted) > bounds_.bytes - bytes_)
      return miss(printable(file_.name) + ": too many bytes"), end_file();
    off_t hole = ::lseek(from, start, SEEK_HOLE);
    if (hole > start) wanted = std::min(wanted, hole - start);
    ssize_t copied = ::copy_file_range(from, &start, to, &into, static_cast<size_t>(wanted), 0);
    if (copied < 0 && errno == EINTR) return;
    if (copied < 0) miss_entry(file_.name);
    if (copied <= 0) return end_file();  // 0: it became shorter
    bytes_ += static_cast<uint64_t>(copied);
    file_.at = start;
  }

  void end_file() {
    finish(file_.to.get(), file_.info);
    file_ = File();
  }

  CopyBounds bounds_;
  std::vector<Folder> folders_;
  File file_;
  size_t entries_ = 0;
  uint64_t bytes_ = 0;
  std::string missing_;
};

}  // namespace

Task<Result<void>> copy_branch(Loop& loop, int from, int to, CopyBounds bounds) {
  Copier copier(from, to, bounds);
  Slices slices(loop);
  while (copier.step())
    if (slices.over()) co_await slices.turn();
  co_return copier.outcome();
}

}  // namespace caisson::session

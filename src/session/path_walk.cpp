#include "session/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson::session {

namespace {

constexpr int kMostLinks = 40;  // as the kernel follows (path_resolution(7))
constexpr size_t kMostRest = 4 * PATH_MAX;
constexpr int kMostNames = 4096;
// A look goes up to the root. Who may write a folder can have made it deep, and a way that turns in
// it again and again: each of these is what one walk may cost, on a thread that others wait for.
constexpr size_t kMostLooks = 64, kMostWayFolders = 256;
constexpr int kLooking = O_PATH | O_CLOEXEC;

Error trouble(int errnum) { return Error::from_errno("follow a path", errnum); }

bool is_proc(int folder) {
  struct statfs info;
  return ::fstatfs(folder, &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

class Walk {
 public:
  Walk(std::string path, const LookAtTurn& look, const LookAtLink& look_at_link)
      : rest_(std::move(path)), look_(look), look_at_link_(look_at_link) {}

  Result<Walked> run() {
    TRY(go_to_root());
    for (;;) {
      std::string name = take_name();
      if (name.empty()) return Walked{std::move(at_), std::move(folder_), {}};
      if (++names_ > kMostNames) return stop(std::move(name), ELOOP);
      if (name == ".") continue;
      Result<bool> went = step(name);
      if (!went && (is_refused_ || went.error().errnum == 0)) return went.error();
      if (!went) return stop(std::move(name), went.error().errnum);
      if (!*went) return stop(std::move(name), ENOENT);
    }
  }

 private:
  Walked stop(std::string name, int why) {
    for (std::string more = take_name(); !more.empty(); more = take_name()) name += "/" + more;
    return Walked{{}, std::move(at_), std::move(name), why};
  }

  bool has_more() const { return rest_.find_first_not_of('/', taken_) != std::string::npos; }

  std::string take_name() {
    size_t begin = rest_.find_first_not_of('/', taken_);
    if (begin == std::string::npos) return {};
    taken_ = std::min(rest_.find('/', begin), rest_.size());
    return rest_.substr(begin, taken_ - begin);
  }

  Result<void> look(Turn turn) {
    Result<void> said = look_(at_.get(), turn);
    is_refused_ = !said;
    return said;
  }

  Result<void> go_to_root() {
    at_.reset(::open("/", kLooking | O_DIRECTORY));
    folder_.reset();
    return at_ ? Result<void>() : trouble(errno);
  }

  // False: there is no such name.
  Result<bool> step(const std::string& name) {
    if (name == "..") {
      TRY(look_once(Turn::kUp));
      return go_to(UniqueFd{::openat(at_.get(), "..", kLooking | O_DIRECTORY)});
    }
    // Without O_DIRECTORY nothing would be mounted on demand (autofs); a link is no directory.
    UniqueFd next{
        ::openat(at_.get(), name.c_str(), kLooking | O_NOFOLLOW | (has_more() ? O_DIRECTORY : 0))};
    if (!next && (errno == ENOTDIR || errno == ELOOP))
      next.reset(::openat(at_.get(), name.c_str(), kLooking | O_NOFOLLOW));
    if (!next && errno != ENOENT) return trouble(errno);
    struct stat info {};
    if (next && ::fstat(next.get(), &info) != 0) return trouble(errno);
    if (next && S_ISLNK(info.st_mode)) return follow(name, next.get(), info);
    TRY(look(Turn::kName));
    if (!next) return false;
    // Here, and not at the next name: a file has no folder above it by which it could be judged.
    if (has_more() && !S_ISDIR(info.st_mode)) return trouble(ENOTDIR);
    return go_to(std::move(next));
  }

  Result<bool> go_to(UniqueFd next) {
    if (!next) return trouble(errno);
    folder_ = std::move(at_);
    at_ = std::move(next);
    return true;
  }

  // A folder in which the way turned before says the same now.
  Result<void> look_once(Turn turn) {
    struct stat info;
    if (::fstat(at_.get(), &info) != 0) return trouble(errno);
    Looked here{{info.st_dev, info.st_ino}, turn};
    if (std::ranges::find(looked_, here) != looked_.end()) return {};
    if (looked_.size() == kMostLooks) return trouble(ELOOP);
    looked_.push_back(here);
    return look(turn);
  }

  // In /proc a link may be no path at all, but lead to what a process has: its root, its memory,
  // the files of another cell by names that mean nothing here. Those are not followed.
  Result<bool> follow_in_proc(const std::string& name) {
    kernel::OpenHow how{O_PATH | O_CLOEXEC, 0, 0};
    if (control_enabled("session-load-magic")) how.resolve = kernel::kResolveNoMagicLinks;
    long found = sys_call(kernel::kOpenat2, long{at_.get()}, name.c_str(), &how, long{sizeof how});
    if (found == -ELOOP)
      return Error::plain(fmt::format("a link of the kernel's own ({}) leads there", name),
                          "name the file itself");
    if (found < 0) return trouble(static_cast<int>(-found));
    at_.reset(static_cast<int>(found));
    folder_.reset();
    return true;
  }

  Result<bool> follow(const std::string& name, int link, const struct stat& info) {
    if (look_at_link_) {
      Result<void> said = look_at_link_(at_.get(), name, {info.st_dev, info.st_ino});
      is_refused_ = !said;
      TRY(std::move(said));
    }
    TRY(look_once(Turn::kLink));
    if (++links_ > kMostLinks) return trouble(ELOOP);
    if (is_proc(at_.get())) return follow_in_proc(name);
    struct stat folder;
    if (::fstat(at_.get(), &folder) != 0) return trouble(errno);
    if (!may_follow_link(folder, info, ::geteuid())) return trouble(EACCES);
    char text[PATH_MAX];
    ssize_t size = ::readlinkat(link, "", text, sizeof text);
    if (size < 0) return trouble(errno);
    std::string to(text, static_cast<size_t>(size));
    if (to.empty()) return trouble(ENOENT);
    if (to.size() == sizeof text || to.size() + rest_.size() - taken_ > kMostRest)
      return trouble(ENAMETOOLONG);
    if (to.starts_with('/')) TRY(go_to_root());
    rest_ = to + "/" + rest_.substr(taken_);
    taken_ = 0;
    return true;
  }

  std::string rest_;
  size_t taken_ = 0;  // bytes of it
  const LookAtTurn& look_;
  const LookAtLink& look_at_link_;
  struct Looked {
    FileIdentity folder;
    Turn turn;
    bool operator==(const Looked&) const = default;
  };
  UniqueFd at_, folder_;
  std::vector<Looked> looked_;
  int links_ = 0, names_ = 0;
  bool is_refused_ = false;  // by the look at a turn
};

}  // namespace

bool may_follow_link(const struct stat& folder, const struct stat& link, uid_t we) {
  constexpr mode_t kShared = S_ISVTX | S_IWOTH;
  return (folder.st_mode & kShared) != kShared || link.st_uid == we || link.st_uid == folder.st_uid;
}

Result<Walked> walk_as_far(const std::string& path, const LookAtTurn& look,
                           const LookAtLink& look_at_link) {
  if (!path.starts_with('/') || path.size() > kMostRest || path.find('\0') != std::string::npos)
    return trouble(EINVAL);
  return Walk(path, look, look_at_link).run();
}

Result<Walked> walk_path(const std::string& path, const LookAtTurn& look) {
  Walked way = TRY(walk_as_far(path, look));
  if (!way.end && way.why != ENOENT) return trouble(way.why);
  return way;
}

std::string plain_path(std::string_view path) {
  std::vector<std::string_view> names;
  for (std::string_view name : split(path, '/')) {
    if (name.empty() || name == ".") continue;
    if (name != "..")
      names.push_back(name);
    else if (!names.empty())
      names.pop_back();
  }
  std::string plain;
  for (std::string_view name : names) plain.append("/").append(name);
  return plain.empty() ? "/" : plain;
}

FileIdentity identity_at(int fd, const char* path) {
  if (fd == AT_FDCWD && *path == '\0') return {};
  struct statx info {};
  if (::statx(fd, path, AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &info) == 0) {
    constexpr uint64_t kNanoseconds = 1'000'000'000;
    bool is_known = info.stx_mask & STATX_BTIME;
    uint64_t born =
        static_cast<uint64_t>(info.stx_btime.tv_sec) * kNanoseconds + info.stx_btime.tv_nsec;
    return {makedev(info.stx_dev_major, info.stx_dev_minor), info.stx_ino, is_known ? born : 0};
  }
  struct stat plain;  // where a filter of a container refuses statx(2)
  if (::fstatat(fd, path, &plain, AT_EMPTY_PATH) != 0) return {};
  return {plain.st_dev, plain.st_ino};
}

Result<std::string> real_path_of(int fd) {
  char text[PATH_MAX];
  std::string link = fmt::format("/proc/self/fd/{}", fd);
  ssize_t size = ::readlink(link.c_str(), text, sizeof text);
  if (size < 0) return Error::system("read " + link);
  if (size == sizeof text) return Error::plain("a path that is too long");
  return std::string(text, static_cast<size_t>(size));
}

// Up by "..", and not by the names in a path: those may mean something else by the time that they
// are looked up. "/" is above itself; a folder can be mounted on one in itself, and look so.
Result<std::vector<FileIdentity>> folders_from(int folder) {
  std::vector<FileIdentity> all;
  UniqueFd at{::fcntl(folder, F_DUPFD_CLOEXEC, 3)};
  for (int same = 0; at && same < 3;) {
    FileIdentity one = identity_at(at.get(), "");
    if (one == FileIdentity{}) break;
    // What is above must be known to the last one, or a rule about it would not be seen.
    if (all.size() == kMostWayFolders)
      return Error::plain(fmt::format("it lies deeper than {} folders", kMostWayFolders));
    same = !all.empty() && all.back() == one ? same + 1 : 0;
    if (same == 0) all.push_back(one);
    at.reset(::openat(at.get(), "..", kLooking | O_DIRECTORY));
  }
  return all;
}

Result<FoundPlace> place_of(int folder) {
  return FoundPlace{TRY(real_path_of(folder)), TRY(folders_from(folder))};
}

bool lies_in(const FoundPlace& place, const WrittenFolder& folder) {
  if (folder.identity != FileIdentity{} &&
      std::ranges::find(place.folders, folder.identity) != place.folders.end())
    return true;
  const std::string& path = folder.path;
  return path == "/" || place.path == path || place.path.starts_with(path + "/");
}

}  // namespace caisson::session

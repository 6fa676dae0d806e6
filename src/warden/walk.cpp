// From a path to the folder and the name that it means. The quick way: the text itself, opened with
// the order that no link may be on it. The long way: name by name, every link followed here, so
// that /proc/self is the caller's and not ours.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "warden/state.h"

namespace caisson::warden {

using namespace kernel;

namespace {

constexpr uint64_t kProcRootInode = 1;
constexpr unsigned kMostLinks = 40, kMostSteps = 512;

class Walker {
 public:
  Walker(const Call& call, Last last, Depth depth, Spot& spot)
      : call_(call), last_(last), depth_(depth), spot_(spot) {}
  ~Walker() { close_fd(at_); }

  long run(int dirfd, const char* path) {
    uint32_t size = text_size(path);
    if (size >= sizeof rest_) return -ENAMETOOLONG;
    copy_bytes(rest_, path, size + 1);
    long start = path[0] == '/' ? open_root() : open_caller_folder(call_, dirfd);
    if (start < 0) return start;
    at_ = start;
    for (unsigned i = 0; i < kMostSteps; ++i) {
      long result = step();
      if (result != -EAGAIN) return result;
    }
    return -ELOOP;
  }

 private:
  static long open_root() {
    return sys_call(SYS_openat, long{AT_FDCWD}, "/", long{O_PATH | O_CLOEXEC});
  }
  void go(long fd) {
    close_fd(at_);
    at_ = fd;
  }

  // One name. -EAGAIN: there is more to come.
  long step() {
    char name[256];
    uint32_t begin = 0;
    while (rest_[begin] == '/') ++begin;
    uint32_t end = begin;
    while (rest_[end] && rest_[end] != '/') ++end;
    if (end - begin > 255) return -ENAMETOOLONG;
    copy_bytes(name, rest_ + begin, end - begin);
    name[end - begin] = 0;
    bool slash = rest_[end] == '/';
    uint32_t next = end;
    while (rest_[next] == '/') ++next;
    bool is_last = rest_[next] == 0;
    // What is left, moved to the front.
    uint32_t left = text_size(rest_ + next);
    for (uint32_t i = 0; i <= left; ++i) rest_[i] = rest_[next + i];
    if (is_last && slash) spot_.wants_folder = true;

    if (name[0] == 0 || same(name, ".") || same(name, "..")) return dots(name, is_last);
    if (is_last && depth_ == Depth::kFolderOnly) return finish(name, -1, false);
    long object = sys_call(SYS_openat, at_, name, long{O_PATH | O_NOFOLLOW | O_CLOEXEC});
    if (object == -ENOENT && is_last) return finish(name, -1, true);
    if (object < 0) return object;
    struct stat info;
    long result = sys_call(SYS_newfstatat, object, "", &info, long{AT_EMPTY_PATH});
    bool follow = !is_last || last_ == Last::kFollow || spot_.wants_folder;
    if (result >= 0 && S_ISLNK(info.st_mode) && follow) return link(name, object, is_last);
    if (result < 0) return close_fd(object), result;
    if (is_last) return finish(name, object, true);
    go(object);
    return -EAGAIN;
  }

  // The last name is a folder that has no name of its own here.
  long dots(const char* name, bool is_last) {
    if (name[0] && name[1]) {
      long up = sys_call(SYS_openat, at_, "..", long{O_PATH | O_DIRECTORY | O_CLOEXEC});
      if (up < 0) return up;
      go(up);
      own_ = false;  // /proc/self/../1 is somebody else's
    }
    if (!is_last) return -EAGAIN;
    spot_.name[0] = 0;
    long object = sys_call(SYS_openat, at_, ".", long{O_PATH | O_CLOEXEC});
    if (object < 0) return object;
    return finish_magic(object);
  }

  long link(const char* name, long object, bool is_last) {
    if (++links_ > kMostLinks) return close_fd(object), -ELOOP;
    long in_proc = is_proc(at_);
    if (in_proc < 0) return close_fd(object), in_proc;
    if (in_proc) {
      struct stat folder;
      long result = sys_call(SYS_newfstatat, at_, "", &folder, long{AT_EMPTY_PATH});
      if (result < 0) return close_fd(object), result;
      if (folder.st_ino != kProcRootInode) return close_fd(object), magic(name, is_last);
      if (same(name, "self") || same(name, "thread-self")) return close_fd(object), self(name);
    }
    char target[4097];
    long size = sys_call(SYS_readlinkat, object, "", target, 4096L);
    close_fd(object);
    if (size <= 0) return size < 0 ? size : -ENOENT;
    target[size] = 0;
    long judged = judge(name);
    if (judged < 0) return judged;
    return continue_with(target, static_cast<uint32_t>(size));
  }

  // The link's own place, with what is left of the path behind it: `.env` may not be read though
  // it is a link to a file of another name.
  long judge(const char* name) {
    char way[kMostText];
    long folder = text_of(static_cast<int>(at_), way, sizeof way);
    if (folder < 0) return folder;
    uint32_t size = folder == 1 ? 0 : static_cast<uint32_t>(folder), length = text_size(name);
    if (size + 1 + length >= sizeof way) return -ENAMETOOLONG;
    way[size] = '/';
    copy_bytes(way + size + 1, name, length);
    uint32_t own = size + 1 + length;
    size = add_rest(way, own);
    if (spot_.through_write == kNoRule)
      spot_.through_write = forbids_write_through(way, own, size, at_);
    if (spot_.through_read == kNoRule && warden.rules->judge_through_links)
      spot_.through_read = forbids_read(way, size);
    return 0;
  }

  // As it is written, "." and ".." taken out. From a ".." on that leads out of the link there is no
  // more to be said by its name.
  uint32_t add_rest(char* way, uint32_t own) const {
    uint32_t size = own;
    for (uint32_t at = 0, end; rest_[at]; at = end) {
      while (rest_[at] == '/') ++at;
      for (end = at; rest_[end] && rest_[end] != '/';) ++end;
      uint32_t length = end - at;
      bool dot = length == 0 || (length == 1 && rest_[at] == '.');
      bool up = length == 2 && rest_[at] == '.' && rest_[at + 1] == '.';
      if (up && size == own) return own;
      while (up && way[--size] != '/') {
      }
      if (dot || up) continue;
      if (size + 1 + length >= kMostText) return size;
      way[size] = '/';
      copy_bytes(way + size + 1, rest_ + at, length);
      size += 1 + length;
    }
    return size;
  }

  long continue_with(const char* target, uint32_t size) {
    uint32_t left = text_size(rest_);
    if (size + left + 2 > sizeof rest_) return -ENAMETOOLONG;
    for (uint32_t i = left + 1; i-- > 0;) rest_[size + 1 + i] = rest_[i];
    copy_bytes(rest_, target, size);
    rest_[size] = left || spot_.wants_folder ? '/' : 0;
    if (target[0] != '/') return -EAGAIN;
    long root = open_root();
    if (root < 0) return root;
    go(root);
    return -EAGAIN;
  }

  long self(const char* name) {
    char text[64];
    long process = caller_process(call_);
    if (process <= 0) return -ENOENT;
    uint32_t size = put_number(text, static_cast<uint64_t>(process));
    if (name[0] == 't') {
      copy_bytes(text + size, "/task/", 6);
      size += 6 + put_number(text + size + 6, static_cast<uint64_t>(call_.thread));
    }
    own_ = true;
    return continue_with(text, size);
  }

  // /proc/N/fd/M, cwd, root, exe: what they lead to has no text that could be followed instead. A
  // caller that keeps itself from others may still look at itself.
  long magic(const char* name, bool is_last) {
    if (is_own_proc(at_)) return -EACCES;
    long target = sys_call(SYS_openat, at_, name, long{O_PATH | O_CLOEXEC});
    if (target == -EACCES && own_ && warden.may_look) {
      raise_sight();
      target = sys_call(SYS_openat, at_, name, long{O_PATH | O_CLOEXEC});
      lower_sight();
    }
    if (target < 0) return target;
    if (is_last) return finish_magic(target);
    go(target);
    return -EAGAIN;
  }

  long finish(const char* name, long object, bool looked_up) {
    copy_bytes(spot_.name, name, text_size(name) + 1);
    long size = text_of(static_cast<int>(at_), spot_.text, sizeof spot_.text);
    if (size < 0) return close_fd(object), size;
    uint32_t length = text_size(name), start = size == 1 ? 0 : static_cast<uint32_t>(size);
    if (start + 1 + length >= sizeof spot_.text) return close_fd(object), -ENAMETOOLONG;
    spot_.text[start] = '/';
    copy_bytes(spot_.text + start + 1, name, length + 1);
    spot_.size = start + 1 + length;
    spot_.folder = static_cast<int>(at_);
    at_ = -1;
    spot_.object = static_cast<int>(object);
    spot_.looked_up = looked_up;
    return 0;
  }

  long finish_magic(long object) {
    long size = text_of(static_cast<int>(object), spot_.text, sizeof spot_.text);
    if (size < 0) return close_fd(object), size;
    spot_.size = static_cast<uint32_t>(size);
    spot_.name[0] = 0;
    spot_.object = static_cast<int>(object);
    spot_.looked_up = true;
    return 0;
  }

  const Call& call_;
  Last last_;
  Depth depth_;
  Spot& spot_;
  long at_ = -1;
  unsigned links_ = 0;
  bool own_ = false;
  char rest_[8192];
};

// The folder of `text`, when no link is on the way.
long quick_folder(const char* text, uint32_t size, Spot& spot) {
  uint32_t slash = size;
  while (slash > 0 && text[slash - 1] != '/') --slash;
  uint32_t length = size - slash;
  if (slash == 0 || length == 0 || length > 255) return -EINVAL;
  char folder[kMostText];
  uint32_t folder_size = slash > 1 ? slash - 1 : 1;
  copy_bytes(folder, text, folder_size);
  folder[folder_size] = 0;
  OpenHow how{O_PATH | O_DIRECTORY | O_CLOEXEC, 0, kResolveNoSymlinks | kResolveNoMagicLinks};
  long fd = sys_call(kOpenat2, long{AT_FDCWD}, folder, &how, long{sizeof how});
  if (fd < 0) return fd;
  spot.folder = static_cast<int>(fd);
  copy_bytes(spot.name, text + slash, length + 1);
  copy_bytes(spot.text, text, size + 1);
  spot.size = size;
  return 0;
}

}  // namespace

Spot::~Spot() {
  close_fd(folder);
  close_fd(object);
}

long text_of(int fd, char* text, uint32_t size) {
  char number[24];
  put_number(number, static_cast<uint64_t>(fd));
  long got = sys_call(SYS_readlinkat, long{warden.own_fds}, number, text, long{size - 1});
  if (got < 0) return got;
  if (got >= static_cast<long>(size) - 1) return -ENAMETOOLONG;
  text[got] = 0;
  return got;
}

uint32_t plain_text(const Call& call, int dirfd, const char* path, char* text) {
  uint32_t size = 0;
  if (path[0] != '/') {
    long got = caller_folder_text(call, dirfd, text, kMostText);
    if (got <= 0 || text[0] != '/' || got >= 4096) return 0;
    size = got == 1 ? 0 : static_cast<uint32_t>(got);
  }
  for (const char* at = path; *at;) {
    while (*at == '/') ++at;
    const char* end = at;
    while (*end && *end != '/') ++end;
    uint32_t length = static_cast<uint32_t>(end - at);
    if (length == 0) return 0;  // it ended with a slash
    bool dot = length == 1 && at[0] == '.', dots = length == 2 && at[0] == '.' && at[1] == '.';
    if (dots || (dot && *end == 0)) return 0;
    if (!dot) {
      if (size + 1 + length >= 4096) return 0;
      text[size++] = '/';
      copy_bytes(text + size, at, length);
      size += length;
    }
    at = end;
  }
  text[size] = 0;
  return size;
}

long find(const Call& call, int dirfd, const char* path, Last last, Depth depth, Spot& spot) {
  if (depth == Depth::kFolderOnly) {
    char text[kMostText];
    uint32_t size = plain_text(call, dirfd, path, text);
    if (size && quick_folder(text, size, spot) >= 0) return 0;
  }
  return Walker(call, last, depth, spot).run(dirfd, path);
}

}  // namespace caisson::warden

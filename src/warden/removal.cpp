// unlink, and what a folder holds that is to move. A name that nobody may write can't be taken away
// either, alone or with a folder above it: with the folder gone another one, new and with hooks of
// its own, could stand in its place.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "warden/state.h"

namespace caisson::warden {

namespace {

// A folder that is larger or deeper is moved name by name (EXDEV).
constexpr unsigned kMostNames = 100'000, kMostDepth = 24;

struct Entry {  // getdents64(2)
  uint64_t inode;
  int64_t next;
  unsigned short size;
  unsigned char type;
  char name[1];
};

enum class Names { kLeave, kCome };

class Search {
 public:
  // The folder is judged as `top`, where it stands or where it is to stand.
  Search(const Spot& top, Names what) : what_(what), size_(top.size) {
    copy_bytes(text_, top.text, top.size);
  }
  uint32_t rule() const { return rule_; }

  // 0: nothing protected is in it; -EPERM: something is; -EXDEV: there is too much to tell.
  long look_into(long folder, unsigned depth) {
    alignas(Entry) char entries[1024];
    if (depth > kMostDepth) return -EXDEV;
    for (;;) {
      long got = sys_call(SYS_getdents64, folder, entries, long{sizeof entries});
      if (got <= 0) return got == 0 ? 0 : -EXDEV;
      for (long at = 0; at < got;) {
        auto* entry = reinterpret_cast<const Entry*>(entries + at);
        long result = judge(folder, *entry, depth);
        if (result < 0) return result;
        at += entry->size;
      }
    }
  }

 private:
  long judge(long folder, const Entry& entry, unsigned depth) {
    if (same(entry.name, ".") || same(entry.name, "..")) return 0;
    uint32_t before = size_, length = text_size(entry.name);
    if (++names_ > kMostNames || before + length + 2 > sizeof text_) return -EXDEV;
    text_[before] = '/';
    copy_bytes(text_ + before + 1, entry.name, length + 1);
    size_ = before + 1 + length;
    rule_ = forbids_write(text_, size_, folder);
    if (rule_ == kFree && what_ == Names::kCome && entry.type != DT_DIR)
      rule_ = forbids_new(text_, size_, folder);
    long result = rule_ == kFree && entry.type != DT_DIR ? file_above(folder, entry.name) : 0;
    if (rule_ != kFree) result = -EPERM;
    if (result == 0 && (entry.type == DT_DIR || entry.type == DT_UNKNOWN))
      result = enter(folder, entry.name, depth);
    size_ = before;
    return result;
  }

  // A submodule's `.git`: a file that leads to the repository.
  long file_above(long folder, const char* name) {
    if (!touches_protected(text_, size_)) return 0;
    long fd = look_at(folder, name);
    if (fd == -ENOENT) return 0;
    if (fd < 0) return -EXDEV;
    struct stat info;
    long result = sys_call(SYS_newfstatat, fd, "", &info, long{AT_EMPTY_PATH});
    if (result >= 0 && !S_ISDIR(info.st_mode)) rule_ = is_older_above_protected(text_, size_, fd);
    close_fd(fd);
    return result < 0 ? -EXDEV : 0;
  }

  long enter(long folder, const char* name, unsigned depth) {
    long inner = sys_call(SYS_openat, folder, name,
                          long{O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC});
    if (inner == -ENOTDIR || inner == -ELOOP || inner == -ENOENT) return 0;
    if (inner < 0) return -EXDEV;  // nobody knows what is in it
    if (what_ == Names::kLeave) remember_place(text_, size_, inner);
    long result = look_into(inner, depth + 1);
    close_fd(inner);
    return result;
  }

  Names what_;
  char text_[kMostText];
  uint32_t size_, rule_ = kFree;
  unsigned names_ = 0;
};

long search_folder(const Spot& at, const Spot& as, Names what, uint32_t& rule) {
  long opened = sys_call(SYS_openat, long{at.folder}, at.name,
                         long{O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC});
  if (opened < 0) return -EXDEV;
  Search search(as, what);
  long result = search.look_into(opened, 0);
  close_fd(opened);
  rule = search.rule();
  return result;
}

}  // namespace

// Nothing older is in a folder that the cell made itself: to get there it would have had to move.
long holds_protected(const Spot& at, long folder, uint32_t& rule) {
  if (!warden.rules->judge_renames || !lies_in_reach(at.text, at.size) || !is_older(folder))
    return 0;
  // With all that is in it: its folders are not asked one by one.
  remember_place(at.text, at.size, folder);
  return search_folder(at, at, Names::kLeave, rule);
}

// A new folder may hold them, in another place.
long brings_protected(const Spot& from, const Spot& to, uint32_t& rule) {
  return search_folder(from, to, Names::kCome, rule);
}

void take_unlink(const Call& call, int dirfd, uint64_t address) {
  char path[4096];
  long result = read_path(call, address, path);
  if (result < 0) return answer(call, result);
  if (!still_waiting(call)) return;
  begin_change(call);
  Spot spot;
  result = find(call, dirfd, path, Last::kKeep, Depth::kFolderOnly, spot);
  if (result < 0) return answer(call, result);
  if (!spot.name[0]) return answer(call, -EISDIR);
  if (spot.wants_folder) {
    struct stat info;
    result =
        sys_call(SYS_newfstatat, long{spot.folder}, spot.name, &info, long{AT_SYMLINK_NOFOLLOW});
    if (result >= 0) result = S_ISDIR(info.st_mode) ? -EISDIR : -ENOTDIR;
    return answer(call, result);
  }
  if (refuse_write(call, spot) != kFree) return;
  long there = touches_protected(spot.text, spot.size) ? look_at(spot.folder, spot.name) : -ENOENT;
  if (there < 0 && there != -ENOENT) return answer(call, there);
  bool stays = refuse_older_above(call, spot, there);
  close_fd(there);
  if (stays) return;
  result = sys_call(SYS_unlinkat, long{spot.folder}, spot.name, 0L);
  if (result == -EROFS) report(Refused::kReadOnly, kNoRule, spot.text, spot.size);
  answer(call, result);
}

}  // namespace caisson::warden

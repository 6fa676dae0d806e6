#include "mcp/scope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/text.h"

namespace caisson::mcp {

std::string scope_of(const ScopeKey& key) {
  // The parts are told apart by their lengths: no project's name runs over into an id.
  return sha256_hex(fmt::format("{}:{}|{}:{}|{}:{}", key.origin.size(), key.origin,
                                key.project.size(), key.project, key.id.size(), key.id))
      .substr(0, 16);
}

std::string random_scope() {
  unsigned char bytes[8];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) std::abort();
  return hex(bytes);
}

Result<std::optional<UniqueFd>> lock_scope(const std::string& state_folder,
                                           std::string_view scope) {
  std::string path = fmt::format("{}/{}.lock", state_folder, scope);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return Error::system("open " + path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<UniqueFd>();
    return Error::system("lock " + path);
  }
  ::futimens(file.get(), nullptr);  // its age is that of its last use
  return std::optional<UniqueFd>(std::move(file));
}

void drop_old_state(const std::string& state_folder, int64_t now_unix) {
  std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(state_folder.c_str()), ::closedir);
  if (!folder) return;
  int at = ::dirfd(folder.get());
  while (const dirent* entry = ::readdir(folder.get())) {
    std::string_view name = entry->d_name;
    bool is_lock = name.ends_with(".lock");
    struct stat info;
    if ((!is_lock && !name.ends_with(".snapshot") && !name.ends_with(".unsaved")) ||
        ::fstatat(at, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode) ||
        now_unix - info.st_mtime <= kStateSeconds)
      continue;
    // A server may live longer than its state does.
    UniqueFd lock;
    if (is_lock) lock.reset(::openat(at, entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (is_lock && (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)) continue;
    ::unlinkat(at, entry->d_name, 0);
  }
}

}  // namespace caisson::mcp

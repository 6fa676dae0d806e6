#include "session/trash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scope_exit.h"
#include "base/text.h"
#include "session/remover.h"
#include "session/state_folders.h"
#include "sys/kernel_numbers.h"

namespace caisson::session {

namespace {

// About a millisecond of the loop's time.
constexpr Effort kAtOnce{64, 8 << 20};
constexpr int kMostProcesses = 4;

// Signals as at birth, a session of its own: it goes on when we end.
Result<pid_t> spawn_remover(const std::string& caisson, int folder) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ScopeExit destroy([&] {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  });
  ::posix_spawn_file_actions_adddup2(&actions, folder, kTrashFd);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  for (int fd : {1, 2}) ::posix_spawn_file_actions_adddup2(&actions, 0, fd);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, kTrashFd + 1);
  ::posix_spawn_file_actions_addchdir_np(&actions, "/");
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  char name[] = "caisson", verb[] = "empty-trash";
  char* argv[] = {name, verb, nullptr};
  char* environment[] = {nullptr};
  pid_t pid = -1;
  int failed = ::posix_spawn(&pid, caisson.c_str(), &actions, &attributes, argv, environment);
  if (failed != 0) return Error::from_errno("start " + caisson, failed);
  return pid;
}

}  // namespace

Result<std::string> Trash::move_in(int at, const std::string& name) {
  if (!folder_) return Error::plain("there is no folder to throw things into");
  unsigned char raw[8];
  if (::getrandom(raw, sizeof raw, 0) != sizeof raw) return Error::system("get random bytes");
  std::string to = hex(raw);
  auto move = [&] { return ::renameat(at, name.c_str(), folder_.get(), to.c_str()) == 0; };
  if (move()) return to;
  // A folder that its owner may not write to keeps its parent as well.
  if (errno == EACCES && open_for_removal(at, name.c_str()) && move()) return to;
  if (errno == ENOENT) return std::string();
  return Error::system("throw away " + printable(name));
}

// Opened anew each time: a lock is that of an open file, and the process that empties the folder
// holds one by a descriptor that it got from us.
Result<void> Trash::take(int at, const std::string& name) {
  std::string taken = TRY(move_in(at, name));
  if (taken.empty()) return {};
  UniqueFd folder = TRY(readable(folder_.get()));
  Remover remover(folder.get(), kAtOnce);
  if (!remover.remove(taken)) start_process(folder.get());
  return {};
}

void Trash::empty() {
  Result<UniqueFd> folder = readable(folder_.get());
  if (!folder) return;
  // An empty one has two links on most file systems, and on the others the process finds nothing.
  struct stat info;
  if (::fstat(folder->get(), &info) == 0 && info.st_nlink != 2) start_process(folder->get());
}

void Trash::start_process(int folder) {
  // Somebody holds the lock: he looks again when he has given it up.
  if (::flock(folder, LOCK_SH | LOCK_NB) != 0) return;
  ::flock(folder, LOCK_UN);
  if (processes_ >= kMostProcesses) return;  // one of them finds it, or the next host does
  UniqueFd own{::fcntl(folder, F_DUPFD_CLOEXEC, kTrashFd + 1)};
  Result<pid_t> pid = own ? spawn_remover(caisson_, own.get()) : Error::system("duplicate");
  if (!pid) return;  // the next host that starts empties it
  int pidfd = static_cast<int>(::syscall(kernel::kPidfdOpen, *pid, 0));
  auto ended = std::make_shared<LoopDescriptor>(loop_.get_executor());
  boost::system::error_code failed;
  ended->assign(pidfd, failed);
  if (failed) return (void)::close(pidfd);
  ++processes_;
  ended->async_wait(LoopDescriptor::wait_read,
                    [weak = weak_from_this(), ended, pid = *pid](const boost::system::error_code&) {
                      ::waitpid(pid, nullptr, WNOHANG);
                      if (std::shared_ptr<Trash> self = weak.lock()) --self->processes_;
                    });
}

}  // namespace caisson::session

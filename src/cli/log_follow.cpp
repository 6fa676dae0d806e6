#include "cli/log_follow.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace caisson {

namespace {

// inotify doesn't tell of writes by other machines (NFS), nor of a folder that is not there yet:
// then, and in any case now and then, a look is enough.
constexpr int kLookEveryMs = 1000;

}  // namespace

Result<FileWatch> FileWatch::begin(const std::string& path) {
  sigset_t stop, old_mask;
  ::sigemptyset(&stop);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&stop, signal);
  UniqueFd signals{::signalfd(-1, &stop, SFD_CLOEXEC)};
  if (!signals) return Error::system("signalfd");
  UniqueFd changes{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
  if (!changes) return Error::system("inotify_init1");
  // The folder, not the file: so that one put in its place is seen, too.
  std::string folder = path.substr(0, path.find_last_of('/') + 1);
  ::inotify_add_watch(changes.get(), folder.empty() ? "." : folder.c_str(),
                      IN_MODIFY | IN_CREATE | IN_MOVED_TO);
  ::sigprocmask(SIG_BLOCK, &stop, &old_mask);
  return FileWatch(std::move(signals), std::move(changes), old_mask);
}

FileWatch::~FileWatch() {
  if (!signals_) return;
  // What was asked has been done: no signal is to be left that ends the process after all.
  pollfd pending{signals_.get(), POLLIN, 0};
  signalfd_siginfo info;
  while (::poll(&pending, 1, 0) > 0)
    if (::read(signals_.get(), &info, sizeof info) < 0) break;
  ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

Result<bool> FileWatch::wait() {
  pollfd fds[] = {{signals_.get(), POLLIN, 0}, {changes_.get(), POLLIN, 0}};
  if (::poll(fds, 2, kLookEveryMs) < 0 && errno != EINTR) return Error::system("poll");
  char events[4096];
  while (::read(changes_.get(), events, sizeof events) > 0) {
  }
  return !(fds[0].revents & POLLIN);
}

}  // namespace caisson

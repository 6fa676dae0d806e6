#include "launch/callers_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace caisson {

namespace {

// A pipe or terminal that polls writable takes this much without blocking (pipe(7), PIPE_BUF), if
// nobody else writes to it.
constexpr size_t kSafeWrite = 4096;

// Pipes and sockets know RWF_NOWAIT since 6.5, FIFOs with a name and terminals not at all. EPERM is
// the word of a filter that does not know the call: a container's, or that of a server of ours.
bool cannot_promise(ssize_t result) {
  return result < 0 &&
         (errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS || errno == EPERM);
}

}  // namespace

CallersStream::CallersStream(int fd) : fd_(fd), kind_(kind_of(fd)) {}

CallersStream::Kind CallersStream::kind_of(int fd) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return Kind::kOther;
  if (S_ISREG(info.st_mode) || S_ISBLK(info.st_mode)) return Kind::kFile;
  if (S_ISFIFO(info.st_mode)) return Kind::kPipe;
  if (S_ISSOCK(info.st_mode)) return Kind::kSocket;
  return S_ISCHR(info.st_mode) && ::isatty(fd) ? Kind::kTerminal : Kind::kOther;
}

const UniqueFd& CallersStream::own(int access) {
  unsigned pair;  // of a pty: to open its master again makes another pair (pts(4))
  bool can_be = kind_ == Kind::kPipe || (is_terminal() && ::ioctl(fd_, TIOCGPTN, &pair) != 0);
  if (own_ || !can_be) return own_;
  std::string path = "/proc/self/fd/" + std::to_string(fd_);
  own_.reset(::open(path.c_str(), access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  return own_;
}

// Where all of it fails (a terminal or FIFO that its owner does not let us open again, a device), a
// read or write may wait after all, if somebody else was faster.
ssize_t CallersStream::read(char* to, size_t size) {
  if (is_file()) return ::read(fd_, to, size);
  if (kind_ == Kind::kSocket) return ::recv(fd_, to, size, MSG_DONTWAIT);
  if (!own_) {
    iovec all{to, size};
    ssize_t got = ::preadv2(fd_, &all, 1, -1, RWF_NOWAIT);
    if (!cannot_promise(got)) return got;
  }
  const UniqueFd& again = own(O_RDONLY);
  return ::read(again ? again.get() : fd_, to, size);
}

ssize_t CallersStream::write_now(std::string_view bytes) {
  if (is_file()) return ::write(fd_, bytes.data(), bytes.size());
  if (kind_ == Kind::kSocket)
    return ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (!own_) {
    iovec all{const_cast<char*>(bytes.data()), bytes.size()};
    ssize_t written = ::pwritev2(fd_, &all, 1, -1, RWF_NOWAIT);
    if (!cannot_promise(written)) return written;
  }
  if (const UniqueFd& again = own(O_WRONLY))
    return ::write(again.get(), bytes.data(), bytes.size());
  return ::write(fd_, bytes.data(), std::min(bytes.size(), kSafeWrite));
}

bool CallersStream::reader_left(int error) const {
  return error == EPIPE || error == ECONNRESET || error == EBADF ||
         (error == EIO && is_terminal());  // hung up: tty(4)
}

ssize_t CallersStream::write(std::string_view bytes) {
  ssize_t written = write_now(bytes);
  if (written >= 0 || errno == EAGAIN || errno == EINTR) return written;
  if (!reader_left(errno)) lost_ = errno;
  return written;
}

}  // namespace caisson

// ForeignFd: a descriptor that came out of a cell. Nothing is known of it, and already its close(2)
// can be an attack: of a socket with SO_LINGER it lasts as long as the cell likes, and of a socket
// whose queue holds such sockets as well. The loop has one thread; it closes only what it knows.
#pragma once

#include "base/unique_fd.h"

namespace caisson::session {

// SCM_MAX_FD: a message has at most so many. What finds no room is closed by the kernel, in the
// receiver's own time, so there has to be room for all of them.
constexpr int kMostInOneMessage = 253;

class ForeignFd {
 public:
  ForeignFd() = default;
  explicit ForeignFd(int fd) : fd_(fd) {}
  ForeignFd(ForeignFd&&) noexcept = default;
  ForeignFd& operator=(ForeignFd&&) noexcept;
  ~ForeignFd();

  int get() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  // Whoever takes it has looked at what it is.
  UniqueFd release() { return std::move(fd_); }
  // A memfd that can't change any more: it can be read without waiting for anybody.
  bool is_sealed_memory() const;

 private:
  UniqueFd fd_;
};

// Closes a socket that a cell has the other end of, and lets go of all that is in its queue. What
// shares its open file (a keeper) can send and receive no more.
void close_socket(UniqueFd);

}  // namespace caisson::session

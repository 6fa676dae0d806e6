// A non-blocking descriptor on the loop. Every operation is tried at once; only when the kernel
// would block does it wait.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/unique_fd.h"
#include "loop/task.h"

namespace caisson {

// What an operation moved. No bytes and no error at a read: the peer ended its side.
struct Moved {
  size_t bytes = 0;
  int error = 0;  // an errno; EAGAIN only from the try_ functions

  bool would_block() const { return error == EAGAIN; }
  bool ended() const { return bytes == 0 && error == 0; }
};

// What comes behind a write. kMore: the kernel may wait for it before it makes a packet; whoever
// says so must write again.
enum class Then { kDone, kMore };

class Socket {
 public:
  // Makes the descriptor non-blocking.
  Socket(Loop& loop, UniqueFd fd);
  Socket(Socket&& other) noexcept
      : descriptor_(std::move(other.descriptor_)),
        fd_(std::exchange(other.fd_, -1)),
        reader_wake_(std::move(other.reader_wake_)) {}
  Socket& operator=(Socket&& other) noexcept {
    descriptor_ = std::move(other.descriptor_);
    fd_ = std::exchange(other.fd_, -1);
    reader_wake_ = std::move(other.reader_wake_);
    return *this;
  }
  ~Socket();

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  Moved try_read(std::span<uint8_t> into);
  Moved peek(std::span<uint8_t> into);
  Moved try_write(std::span<const uint8_t> bytes, Then then = Then::kDone);
  // 0, or ECANCELED after cancel(), wake_reader() and close().
  Task<int> readable();
  Task<int> writable();

  int shutdown_write();
  // Wakes every waiter for good: reads find the end, writes fail.
  void abort();
  // Wakes those who wait now, once.
  void cancel();
  // The same for the one who waits to read, who must have said before that it may be woken.
  void reader_may_be_woken();
  void wake_reader();
  Loop::executor_type executor() { return descriptor_.get_executor(); }
  // Closes with a reset: the peer sees a refusal, not an end.
  void reset();
  UniqueFd release();

 private:
  Task<int> only_readable();
  Task<int> readable_or_woken();

  using Descriptor = boost::asio::posix::basic_stream_descriptor<Loop::executor_type>;
  Descriptor descriptor_;
  int fd_ = -1;
  std::unique_ptr<boost::asio::cancellation_signal> reader_wake_;  // few have need of it
};

}  // namespace caisson

#include "gateway/socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

namespace caisson {

using Await = boost::asio::use_awaitable_t<Loop::executor_type>;

Socket::Socket(Loop& loop, UniqueFd fd) : descriptor_(loop.get_executor()) {
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  boost::system::error_code failed;
  descriptor_.assign(fd.get(), failed);
  if (!failed) fd_ = fd.release();
}

Socket::~Socket() = default;

Moved Socket::try_read(std::span<uint8_t> into) {
  ssize_t got;
  do {
    got = ::read(fd_, into.data(), into.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) return {0, errno};
  return {static_cast<size_t>(got), 0};
}

Moved Socket::peek(std::span<uint8_t> into) {
  ssize_t got = ::recv(fd_, into.data(), into.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got < 0) return {0, errno};
  return {static_cast<size_t>(got), 0};
}

Moved Socket::try_write(std::span<const uint8_t> bytes, Then then) {
  ssize_t put;
  int flags = MSG_NOSIGNAL | (then == Then::kMore ? MSG_MORE : 0);
  do {
    put = ::send(fd_, bytes.data(), bytes.size(), flags);
  } while (put < 0 && errno == EINTR);
  if (put < 0) return {0, errno};
  return {static_cast<size_t>(put), 0};
}

// Two of them: a thousand connections wait here, and the frame of one that can be woken is larger.
Task<int> Socket::readable() { return reader_wake_ ? readable_or_woken() : only_readable(); }

Task<int> Socket::only_readable() {
  boost::system::error_code failed;
  co_await descriptor_.async_wait(Descriptor::wait_read,
                                  boost::asio::redirect_error(Await{}, failed));
  co_return failed ? ECANCELED : 0;
}

Task<int> Socket::readable_or_woken() {
  boost::system::error_code failed;
  co_await descriptor_.async_wait(
      Descriptor::wait_read,
      boost::asio::bind_cancellation_slot(reader_wake_->slot(),
                                          boost::asio::redirect_error(Await{}, failed)));
  co_return failed ? ECANCELED : 0;
}

Task<int> Socket::writable() {
  boost::system::error_code failed;
  co_await descriptor_.async_wait(Descriptor::wait_write,
                                  boost::asio::redirect_error(Await{}, failed));
  co_return failed ? ECANCELED : 0;
}

int Socket::shutdown_write() { return ::shutdown(fd_, SHUT_WR) == 0 ? 0 : errno; }

void Socket::abort() {
  if (fd_ >= 0) ::shutdown(fd_, SHUT_RDWR);
}

void Socket::cancel() {
  boost::system::error_code ignored;
  descriptor_.cancel(ignored);
}

void Socket::reader_may_be_woken() {
  if (!reader_wake_) reader_wake_ = std::make_unique<boost::asio::cancellation_signal>();
}

void Socket::wake_reader() {
  if (reader_wake_) reader_wake_->emit(boost::asio::cancellation_type::terminal);
}

void Socket::reset() {
  if (fd_ < 0) return;
  linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  boost::system::error_code ignored;
  descriptor_.close(ignored);
  fd_ = -1;
}

UniqueFd Socket::release() {
  fd_ = -1;
  return UniqueFd(descriptor_.release());
}

}  // namespace caisson

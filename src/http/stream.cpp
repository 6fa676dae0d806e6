#include "http/stream.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <utility>

namespace caisson::http {

using Await = boost::asio::use_awaitable_t<Loop::executor_type>;

struct Stream::Watch {
  std::function<void()> gone;  // empty when nobody wants to know any more
};

Stream::Stream(Loop& loop, UniqueFd fd) : descriptor_(loop.get_executor()) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  boost::system::error_code failed;
  descriptor_.assign(fd.get(), failed);
  if (!failed) fd.release();
}

Stream::~Stream() { unwatch(); }

Task<Result<size_t>> Stream::read(std::string& into, size_t limit) {
  size_t before = into.size();
  for (;;) {
    into.resize(before + limit);
    ssize_t got = ::recv(fd(), into.data() + before, limit, 0);
    into.resize(before + static_cast<size_t>(got > 0 ? got : 0));
    if (got >= 0) co_return static_cast<size_t>(got);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) co_return Error::system("read a request");
    boost::system::error_code failed;
    co_await descriptor_.async_wait(Descriptor::wait_read,
                                    boost::asio::redirect_error(Await{}, failed));
    if (failed) co_return Error::from_errno("read a request", ECANCELED);
  }
}

Task<Result<void>> Stream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put >= 0) {
      bytes.remove_prefix(static_cast<size_t>(put));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) co_return Error::system("answer the client");
    boost::system::error_code failed;
    co_await descriptor_.async_wait(Descriptor::wait_write,
                                    boost::asio::redirect_error(Await{}, failed));
    if (failed) co_return Error::from_errno("answer the client", ECANCELED);
  }
  co_return Result<void>();
}

Task<int> Stream::readable() {
  boost::system::error_code failed;
  co_await descriptor_.async_wait(Descriptor::wait_read,
                                  boost::asio::redirect_error(Await{}, failed));
  co_return failed ? ECANCELED : 0;
}

void Stream::cancel() {
  boost::system::error_code ignored;
  descriptor_.cancel(ignored);
}

void Stream::end_writing() { ::shutdown(fd(), SHUT_WR); }

void Stream::abort() { ::shutdown(fd(), SHUT_RDWR); }

void Stream::watch(std::function<void()> gone) {
  unwatch();
  if (!gone) return;
  watch_ = std::make_shared<Watch>(std::move(gone));
  // The handler may run after this object is gone, when it had been queued already: it looks at
  // `watch` before it touches anything else.
  descriptor_.async_wait(Descriptor::wait_read,
                         [this, watch = watch_](boost::system::error_code failed) {
                           if (failed || !watch->gone) return;
                           char byte = 0;
                           ssize_t got = ::recv(fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
                           bool ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
                           if (ended) std::exchange(watch->gone, {})();
                         });
}

void Stream::unwatch() {
  if (!watch_) return;
  // The wait itself stays: cancel() would wake a write that waits on the same descriptor.
  watch_->gone = {};
  watch_.reset();
}

Task<> Bell::wait() { co_await wait_until(Clock::time_point::max()); }

Task<> Bell::wait_until(Clock::time_point moment) {
  if (!std::exchange(rung_, false)) {
    timer_.expires_at(moment);
    boost::system::error_code ignored;
    co_await timer_.async_wait(boost::asio::redirect_error(Await{}, ignored));
    rung_ = false;
  }
}

void Bell::ring() {
  rung_ = true;
  timer_.cancel();
}

}  // namespace caisson::http

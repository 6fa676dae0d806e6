// A connection's descriptor on the loop: every operation is tried at once, and waits only when the
// kernel would block. And a bell, for a coroutine that waits for another.
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/wait_traits.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/task.h"

namespace caisson::http {

using Clock = std::chrono::steady_clock;
using Timer =
    boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Loop::executor_type>;

class Stream {
 public:
  Stream(Loop& loop, UniqueFd fd);  // makes it non-blocking
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  // Adds what has come to `into`, at most `limit` bytes; 0 at the peer's end.
  Task<Result<size_t>> read(std::string& into, size_t limit);
  Task<Result<void>> write(std::string_view bytes);
  Task<int> readable();  // 0, or ECANCELED after cancel()
  void cancel();         // wakes those who wait now, once
  void end_writing();
  // Wakes whoever waits, for good: reads find the end, writes fail.
  void abort();

  // Calls `gone` once, when the peer ends its side before unwatch(). Bytes that come instead end
  // the watch: they are the next request's. An empty function ends it too.
  void watch(std::function<void()> gone);
  void unwatch();

  int fd() const { return descriptor_.native_handle(); }

 private:
  using Descriptor = boost::asio::posix::basic_stream_descriptor<Loop::executor_type>;
  struct Watch;
  mutable Descriptor descriptor_;
  std::shared_ptr<Watch> watch_;
};

// One waits, another rings. A ring while nobody waits is kept.
class Bell {
 public:
  explicit Bell(Loop& loop) : timer_(loop.get_executor()) {}
  Task<> wait();
  // The same, but not after this moment.
  Task<> wait_until(Clock::time_point moment);
  void ring();

 private:
  Timer timer_;
  bool rung_ = false;
};

}  // namespace caisson::http

#include "gateway/event.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace caisson {

using Await = boost::asio::use_awaitable_t<Loop::executor_type>;

Task<> Event::wait() {
  while (!set_) {
    boost::system::error_code cancelled;
    co_await timer_.async_wait(boost::asio::redirect_error(Await{}, cancelled));
  }
}

void Event::clear() {
  set_ = false;
  timer_.expires_at(Clock::time_point::max());
}

Task<> take_turns(Loop& loop) { co_await boost::asio::post(loop.get_executor(), Await{}); }

Task<> pause(Loop& loop, std::chrono::milliseconds time) {
  Timer timer(loop.get_executor());
  timer.expires_after(time);
  boost::system::error_code ignored;
  co_await timer.async_wait(boost::asio::redirect_error(Await{}, ignored));
}

}  // namespace caisson

#include "session/event.h"

#include <boost/asio/redirect_error.hpp>

namespace caisson::session {

Task<bool> Event::wait(SteadyClock::time_point deadline) {
  deadline_ = deadline;
  while (!happened_ && SteadyClock::now() < deadline_) {
    timer_.expires_at(deadline_);
    boost::system::error_code ignored;  // cancelled: it happened, or the deadline has moved
    co_await timer_.async_wait(boost::asio::redirect_error(kAwait, ignored));
  }
  co_return happened_;
}

Task<Turns::Ticket> Turns::take() {
  if (!taken_) {
    taken_ = true;
    co_return Ticket(this);
  }
  Waiter mine(*this);
  bool came = co_await mine.event.wait(SteadyClock::time_point::max());
  mine.served = came;
  co_return Ticket(this);
}

Turns::Waiter::Waiter(Turns& all) : event(all.loop_), turns(all) { turns.waiting_.push_back(this); }

// A coroutine that is dropped while it waits gives its place, or the turn it was just given, away.
Turns::Waiter::~Waiter() {
  if (served) return;
  if (event.happened())
    turns.pass_on();
  else
    std::erase(turns.waiting_, this);
}

void Turns::pass_on() {
  if (waiting_.empty()) {
    taken_ = false;
    return;
  }
  Waiter* next = waiting_.front();
  waiting_.pop_front();
  next->event.set();
}

}  // namespace caisson::session

#include "mcp/turns.h"

namespace caisson::mcp {

Task<Turn> Turns::enter(Call& call, http::Clock::time_point until) {
  if (call.cancelled()) co_return Turn::kCancelled;
  if (!busy_) {
    busy_ = true;
    since_ = http::Clock::now();
    co_return Turn::kMine;
  }
  auto waiter = std::make_shared<Waiter>(loop_);
  waiting_.push_back(waiter);
  call.on_cancel([waiter] { waiter->bell.ring(); });
  while (!waiter->granted && !waiter->sent_away && !call.cancelled() && http::Clock::now() < until)
    co_await waiter->bell.wait_until(until);
  call.on_cancel(nullptr);
  if (waiter->granted && !call.cancelled()) co_return Turn::kMine;
  if (waiter->granted)
    leave();
  else
    std::erase(waiting_, waiter);
  if (call.cancelled()) co_return Turn::kCancelled;
  co_return waiter->sent_away ? Turn::kSentAway : Turn::kTooLate;
}

void Turns::leave() {
  since_ = http::Clock::now();
  if (waiting_.empty()) {
    busy_ = false;
    return;
  }
  std::shared_ptr<Waiter> next = waiting_.front();
  waiting_.pop_front();
  next->granted = true;
  next->bell.ring();
}

void Turns::send_away() {
  for (const std::shared_ptr<Waiter>& one : std::exchange(waiting_, {})) {
    one->sent_away = true;
    one->bell.ring();
  }
}

double Turns::seconds() const {
  return std::chrono::duration<double>(http::Clock::now() - since_).count();
}

}  // namespace caisson::mcp

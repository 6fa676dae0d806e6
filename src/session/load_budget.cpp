#include "session/load_budget.h"

#include <errno.h>

#include "base/control.h"

namespace caisson::session {

namespace {

uint64_t beyond_free(uint64_t bytes) {
  return bytes > LoadBudget::kFree ? bytes - LoadBudget::kFree : 0;
}

Error others_load() {
  return {"load: files that other sessions load take all the memory that there is for it",
          "try again in a while", EAGAIN};
}

}  // namespace

LoadBudget::Share::~Share() { of_->give_back(beyond_free(held_)); }

Task<Result<void>> LoadBudget::Share::hold(uint64_t bytes) {
  if (holds(bytes) || !control_enabled("session-load-budget")) co_return Result<void>();
  uint64_t had = beyond_free(held_), more = beyond_free(bytes) - had;
  bool came = true;
  if (had == 0 && more > 0)
    came = co_await of_->take(more);
  else if (more > 0 && of_->can_grow(had, more))
    of_->taken_ += more;
  else
    came = more == 0;  // of what is free to all, however much one that goes alone has taken
  if (!came) co_return others_load();
  held_ = bytes;
  co_return Result<void>();
}

Task<bool> LoadBudget::take(uint64_t bytes) {
  if (waiting_.empty() && fits(bytes)) {
    taken_ += bytes;
    co_return true;
  }
  Waiter mine(*this, bytes);
  bool came = co_await mine.event.wait(SteadyClock::now() + patience_);
  (void)came;  // it may be served at the very end of its patience
  co_return std::exchange(mine.bytes, 0) > 0 && mine.is_served;
}

LoadBudget::Waiter::Waiter(LoadBudget& budget, uint64_t wanted)
    : of(budget), event(budget.loop_), bytes(wanted) {
  of.waiting_.push_back(this);
}

// Who leaves the queue may have been what others waited for.
LoadBudget::Waiter::~Waiter() {
  if (!is_served) std::erase(of.waiting_, this);
  of.give_back(is_served ? bytes : 0);  // 0, unless its coroutine was dropped
}

void LoadBudget::give_back(uint64_t bytes) {
  taken_ -= bytes;
  serve();
}

void LoadBudget::serve() {
  while (!waiting_.empty() && fits(waiting_.front()->bytes)) {
    Waiter* next = waiting_.front();
    waiting_.pop_front();
    taken_ += next->bytes;
    next->is_served = true;
    next->event.set();
  }
}

}  // namespace caisson::session

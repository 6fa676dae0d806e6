#include "web/turns.h"

namespace caisson::web {

Turn::~Turn() {
  if (turns_) turns_->next();
}

Task<Turn> Turns::take() {
  std::shared_ptr<Turns> self = shared_from_this();
  if (taken_) {
    http::Bell bell(loop_);
    waiting_.push_back(&bell);
    co_await bell.wait();  // whoever ends rings, and leaves `taken_` as it is
  }
  taken_ = true;
  co_return Turn(std::move(self));
}

void Turns::next() {
  if (waiting_.empty()) {
    taken_ = false;
    return;
  }
  http::Bell* bell = waiting_.front();
  waiting_.pop_front();
  bell->ring();
}

}  // namespace caisson::web

// Slices: long work on the loop, a few milliseconds at a time, so that others have their turn.
#pragma once

#include "session/event.h"

namespace caisson::session {

class Slices {
 public:
  explicit Slices(Loop& loop) : loop_(loop) {}
  // Then it is time to `co_await turn()`.
  bool over() const { return SteadyClock::now() - begin_ >= kSlice; }
  Task<> turn();

 private:
  static constexpr std::chrono::milliseconds kSlice{5};
  Loop& loop_;
  SteadyClock::time_point begin_ = SteadyClock::now();
};

}  // namespace caisson::session

// Something that one coroutine waits for and another makes happen.
#pragma once

#include "gateway/deadlines.h"

namespace caisson {

class Event {
 public:
  explicit Event(Loop& loop) : timer_(loop.get_executor(), Clock::time_point::max()) {}

  void set() {
    set_ = true;
    timer_.cancel();
  }
  bool is_set() const { return set_; }
  Task<> wait();  // for one waiter; at once when it is set already
  void clear();

 private:
  Timer timer_;
  bool set_ = false;
};

// Lets the others have a turn: a coroutine that never blocks would starve them.
Task<> take_turns(Loop& loop);

Task<> pause(Loop& loop, std::chrono::milliseconds time);

}  // namespace caisson

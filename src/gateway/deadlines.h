// Until when somebody may keep us waiting. Setting one costs an assignment: a clock that ticks once
// a second looks for those that have passed, so none is exact.
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/wait_traits.hpp>
#include <chrono>
#include <initializer_list>

#include "gateway/socket.h"
#include "loop/task.h"

namespace caisson {

using Clock = std::chrono::steady_clock;
using Timer =
    boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Loop::executor_type>;

class Deadlines;

// Aborts its sockets when the time is over. Must not outlive them.
class Deadline {
 public:
  Deadline(Deadlines& all, Socket* first, Socket* second = nullptr);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline();

  void after(std::chrono::milliseconds time) { when_ = Clock::now() + time; }
  void none() { when_ = Clock::time_point::max(); }
  void watch(Socket* first, Socket* second);
  bool passed() const { return passed_; }

 private:
  friend class Deadlines;
  Deadlines& all_;
  Deadline *next_ = nullptr, **link_ = nullptr;
  Socket *first_, *second_;
  Clock::time_point when_ = Clock::time_point::max();
  bool passed_ = false;
};

class Deadlines {
 public:
  // Aborts what has passed. Somebody calls it once a second.
  void look(Clock::time_point now);

 private:
  friend class Deadline;
  Deadline* first_ = nullptr;
};

}  // namespace caisson

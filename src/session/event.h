// Waiting on the loop: for something to happen, with a deadline that may move; and for one's turn.
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/wait_traits.hpp>
#include <chrono>
#include <deque>
#include <utility>

#include "loop/task.h"

namespace caisson::session {

using SteadyClock = std::chrono::steady_clock;
using LoopTimer =
    boost::asio::basic_waitable_timer<SteadyClock, boost::asio::wait_traits<SteadyClock>,
                                      Loop::executor_type>;
constexpr boost::asio::use_awaitable_t<Loop::executor_type> kAwait{};

// Happens once. One coroutine waits for it.
class Event {
 public:
  explicit Event(Loop& loop) : timer_(loop.get_executor()) {}
  void set() {
    happened_ = true;
    timer_.cancel();
  }
  bool happened() const { return happened_; }
  SteadyClock::time_point deadline() const { return deadline_; }
  void move_deadline(SteadyClock::time_point to) {
    deadline_ = to;
    timer_.cancel();
  }
  // True when it happened, false when the deadline was first.
  Task<bool> wait(SteadyClock::time_point deadline);

 private:
  LoopTimer timer_;
  SteadyClock::time_point deadline_ = SteadyClock::time_point::max();
  bool happened_ = false;
};

// One at a time, in the order of asking.
class Turns {
 public:
  explicit Turns(Loop& loop) : loop_(loop) {}
  class Ticket {
   public:
    Ticket() = default;
    explicit Ticket(Turns* turns) : turns_(turns) {}
    Ticket(Ticket&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (turns_) turns_->pass_on();
    }

   private:
    Turns* turns_ = nullptr;
  };
  // The caller keeps whoever owns this alive while it waits and while it holds the ticket.
  Task<Ticket> take();
  bool taken() const { return taken_; }
  bool wanted() const { return !waiting_.empty(); }

 private:
  struct Waiter {
    explicit Waiter(Turns&);
    ~Waiter();
    Event event;
    Turns& turns;
    bool served = false;
  };
  void pass_on();
  Loop& loop_;
  bool taken_ = false;
  std::deque<Waiter*> waiting_;
};

}  // namespace caisson::session

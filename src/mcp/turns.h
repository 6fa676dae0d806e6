// Calls that want the same session stand in line here and not inside it: one that is cancelled
// while it waits leaves the line, where interrupting the session would stop somebody else's call.
#pragma once

#include <deque>
#include <memory>

#include "http/stream.h"
#include "mcp/call.h"

namespace caisson::mcp {

enum class Turn {
  kMine,
  kCancelled,  // by the client, while it waited
  kTooLate,    // its time was up before its turn came
  kSentAway,   // the session was reset meanwhile
};

class Turns {
 public:
  explicit Turns(Loop& loop) : loop_(loop) {}
  // Waits until that moment at most.
  Task<Turn> enter(Call& call, http::Clock::time_point until);
  void leave();
  bool idle() const { return !busy_; }
  bool has_line() const { return !waiting_.empty(); }
  // Those who wait go without their turn.
  void send_away();
  // How long the one whose turn it is has had it.
  double seconds() const;

 private:
  struct Waiter {
    explicit Waiter(Loop& loop) : bell(loop) {}
    http::Bell bell;
    bool granted = false, sent_away = false;
  };
  Loop& loop_;
  bool busy_ = false;
  http::Clock::time_point since_;
  std::deque<std::shared_ptr<Waiter>> waiting_;
};

}  // namespace caisson::mcp

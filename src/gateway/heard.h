// Whether the supervisor has taken in what was told it. Who streams denials to a reader (a session's
// server adds them to the result of a call) must have them before the cell's program learns of the
// refusal, or the result is there first.
#pragma once

#include <cstdint>

namespace caisson {

class Heard {
 public:
  static constexpr int kPatienceMs = 50;  // a supervisor that is stopped must not stop the gateway

  // An eventfd to which the supervisor adds one for each denial; -1: nobody needs to know.
  explicit Heard(int fd) : fd_(fd) {}

  // One more was told: returns when it has been heard, or patience is over.
  void await_one();

 private:
  int fd_;
  uint64_t owed_ = 0;
};

}  // namespace caisson

// Whether the supervisor has taken in what was told it. Who streams denials to a reader (a
// session's server adds them to the result of a call) must have them before the cell's program
// learns of the refusal, or the result is there first.
#pragma once

#include <cstdint>

namespace caisson {

class Heard {
 public:
  // A supervisor that is stopped must not stop the gateway; one that waits for a busy processor
  // is no such one. Well below what it waits itself for a gateway that doesn't read.
  static constexpr int kPatienceMs = 500;
  static constexpr int kDeafPatienceMs = 10;  // after one that was not heard in that time

  // An eventfd to which the supervisor adds one for each denial; -1: nobody needs to know.
  explicit Heard(int fd) : fd_(fd) {}

  // One more was told: returns when all have been heard, or patience is over.
  void await_one();

 private:
  int fd_;
  uint64_t owed_ = 0;  // told and not heard; what is heard late must not pass for a later one
  bool is_deaf_ = false;
};

}  // namespace caisson

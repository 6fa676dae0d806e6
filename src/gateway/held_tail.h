// How long the undecided end of a stream may be held back (secret_stream.h): "…tasks" could be the
// beginning of a secret that begins "sk-", and whoever waits for the answer must not wait for ever.
#pragma once

#include "base/control.h"
#include "gateway/deadlines.h"
#include "gateway/traffic.h"

namespace caisson {

// From the host it may be the first half of a value, and goes on when the host has sent nothing for
// so long while the gateway waited for it with empty hands. From the cell it is the beginning of a
// placeholder, which is no secret.
inline constexpr std::chrono::milliseconds kHeldFromHost{1000}, kHeldFromCell{50};

// The attack: a cell that stops reading stops the gateway, and that stops the host, at a byte that
// the cell chooses by how much it reads. Were the time counted from the last byte that came, the
// first half of a value would go on because the cell was slow, and the rest would be no value any
// more. So the time is that of one wait for the host: it begins when all that was decided has been
// taken by the cell's side and a read has found nothing, and before anything is let go another read
// must find nothing (a process that wasn't run for a while finds time and bytes at once). Nor does
// it count while the cell still sends its request: a host that gives back what it gets, a buffer at
// a time, is stopped by a cell that stops sending, with the border where the cell wants it.
class HeldTail {
 public:
  explicit HeldTail(Way way) : way_(way) {}

  std::chrono::milliseconds patience() const {
    return way_ == Way::kDown ? kHeldFromHost : kHeldFromCell;
  }
  // A mutant counts from the last byte that came, whoever was slow since.
  void bytes_came() {
    if (!control_enabled("gateway-held-tail")) last_came_ = Clock::now();
  }
  bool is_let_go_by_mutant() const {
    return !control_enabled("gateway-held-tail") && Clock::now() - last_came_ >= patience();
  }

 private:
  Way way_;
  Clock::time_point last_came_ = Clock::time_point::max();
};

}  // namespace caisson

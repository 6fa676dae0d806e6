#include "gateway/heard.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

namespace caisson {

void Heard::await_one() {
  if (fd_ < 0) return;
  ++owed_;
  for (bool heard_some = false; owed_ > 0; heard_some = true) {
    pollfd readable{.fd = fd_, .events = POLLIN};
    uint64_t heard = 0;
    if (::poll(&readable, 1, is_deaf_ ? kDeafPatienceMs : kPatienceMs) <= 0 ||
        ::read(fd_, &heard, sizeof heard) != sizeof heard) {
      // It hears, and some never came: lost on the way, they must not make every later one wait.
      if (heard_some) owed_ = 0;
      is_deaf_ = !heard_some;
      return;
    }
    is_deaf_ = false;
    owed_ -= std::min(owed_, heard);
  }
}

}  // namespace caisson

#include "gateway/heard.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

namespace caisson {

void Heard::await_one() {
  if (fd_ < 0) return;
  ++owed_;
  while (owed_ > 0) {
    pollfd readable{.fd = fd_, .events = POLLIN};
    uint64_t heard = 0;
    if (::poll(&readable, 1, kPatienceMs) <= 0 || ::read(fd_, &heard, sizeof heard) != sizeof heard)
      break;
    owed_ -= std::min(owed_, heard);
  }
  owed_ = 0;  // one that was lost on the way must not make every later one wait
}

}  // namespace caisson

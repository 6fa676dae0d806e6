#include "gateway/control_out.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace caisson {

void ControlOut::send(ControlType type, std::string_view body) {
  if (body.size() > kMaxControlFrame || waiting_.size() + body.size() > kMaxWaiting) return;
  waiting_ += control_frame(type, body);
  flush();
}

bool ControlOut::flush() {
  while (!waiting_.empty() && fd_ >= 0) {
    ssize_t put = ::send(fd_, waiting_.data(), waiting_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return false;
    if (put < 0)
      waiting_.clear();
    else
      waiting_.erase(0, static_cast<size_t>(put));
  }
  return true;
}

void ControlOut::flush_and_wait(int milliseconds) {
  while (!flush()) {
    pollfd ready{.fd = fd_, .events = POLLOUT};
    if (poll(&ready, 1, milliseconds) <= 0) return;
  }
}

}  // namespace caisson

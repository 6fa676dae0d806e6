// Frames on their way to the supervisor. A supervisor that doesn't read must not stall the cell's
// connections: what exceeds the bound is dropped.
#pragma once

#include <string>
#include <string_view>

#include "gateway/control_frames.h"

namespace caisson {

class ControlOut {
 public:
  static constexpr size_t kMaxWaiting = 2 * kMaxControlFrame;

  void set_fd(int fd) { fd_ = fd; }  // non-blocking; the owner is elsewhere
  void send(ControlType type, std::string_view body);
  // Writes what the socket takes now. True: nothing is left, or nobody is there to read it.
  bool flush();
  // Writes what is left, waiting for the reader at most so long.
  void flush_and_wait(int milliseconds);

 private:
  int fd_ = -1;
  std::string waiting_;
};

}  // namespace caisson

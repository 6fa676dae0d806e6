// Keeps the gateway on one core while much flows down to the cell.
#pragma once

#include <sched.h>

namespace caisson {

// Each packet that comes in wakes the gateway, and the kernel likes to put who is woken beside who
// wakes: beside the sender, who is busy with the next packet, and not where the reader waits. A
// stream takes half as long again then. As long as the gateway stays where it is, the others are
// placed around it.
class OneCore {
 public:
  void hold();
  void release();  // once for each hold

 private:
  unsigned holders_ = 0;
  bool held_ = false;
  cpu_set_t before_{};
};

}  // namespace caisson

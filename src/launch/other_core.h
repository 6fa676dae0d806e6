// Puts a process that was just made on another core than its maker's.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace caisson {

// The scheduler likes to leave it where it was made, behind its maker, who has work to do: a third
// of a millisecond with a core idle beside them. Where it may run is as before.
void begin_on_another_core(pid_t child);

// Keeps this process on the core that it is on. Since Linux 6.13 a core that has once run a process
// is interrupted when that process ends, and waited for: in a virtual machine, where a core that
// sleeps has to be woken by the host, a tenth of a start. Children inherit it: clone first.
class OwnCore {
 public:
  OwnCore();
  ~OwnCore() { leave(); }
  OwnCore(const OwnCore&) = delete;
  OwnCore& operator=(const OwnCore&) = delete;
  void leave();  // who stays for long goes where there is room

 private:
  cpu_set_t before_;
  bool held_ = false;
};

}  // namespace caisson

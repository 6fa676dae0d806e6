// Puts a process that was just made on another core than its maker's.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <string_view>

namespace caisson {

// Of the text of /proc/loadavg (proc(5)): three averages, then how many run or could, of how many.
int running_now(std::string_view loadavg);

// Whether all cores have work at this moment, ours among it, by the kernel's count of who runs or
// could. Who is sent to another core then waits there for the turn of whoever has it, three
// milliseconds and more, and who offers its own core waits as long to have it back. False where it
// can't be told.
bool cores_are_taken();

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

#include "launch/other_core.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <charconv>

#include "base/unique_fd.h"

namespace caisson {

int running_now(std::string_view loadavg) {
  for (int word = 0; word < 3; ++word) {
    size_t end = loadavg.find(' ');
    if (end == loadavg.npos) return 0;
    loadavg.remove_prefix(end + 1);
  }
  int count = 0;
  std::from_chars(loadavg.data(), loadavg.data() + loadavg.size(), count);
  return count;
}

bool cores_are_taken() {
  UniqueFd file{::open("/proc/loadavg", O_RDONLY | O_CLOEXEC)};
  char text[128];
  ssize_t size = file ? ::read(file.get(), text, sizeof text) : -1;
  cpu_set_t allowed;
  if (size <= 0 || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  return running_now({text, static_cast<size_t>(size)}) >= CPU_COUNT(&allowed);
}

// Taken off this core it is moved at once; allowed here again it stays where it is. Fails where
// there is no other, or where the set is too small to count them all: then it waits, and nothing is
// lost.
void begin_on_another_core(pid_t child) {
  cpu_set_t all;
  int core = ::sched_getcpu();
  if (core < 0 || core >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof all, &all) != 0) return;
  cpu_set_t others = all;
  CPU_CLR(static_cast<unsigned>(core), &others);
  if (::sched_setaffinity(child, sizeof others, &others) != 0) return;
  ::sched_setaffinity(child, sizeof all, &all);
}

OwnCore::OwnCore() {
  int core = ::sched_getcpu();
  if (core < 0 || core >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof before_, &before_) != 0)
    return;
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(static_cast<unsigned>(core), &here);
  held_ = ::sched_setaffinity(0, sizeof here, &here) == 0;
}

void OwnCore::leave() {
  if (held_) ::sched_setaffinity(0, sizeof before_, &before_);
  held_ = false;
}

}  // namespace caisson

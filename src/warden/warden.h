// The warden: a process of the cell that makes and opens names on behalf of the program, so that a
// name can be judged and used in one step. It has the program's ids, view of files and Landlock
// domain, and lives and dies with the cell.
#pragma once

#include <linux/filter.h>
#include <stdint.h>

#include "warden/rules.h"

namespace caisson::warden {

struct Start {
  const Rules* rules;
  const sock_filter* filter;  // its own; null: none
  uint32_t filter_count;
  int listener_socket;  // the notification descriptor comes by it
};

// Runs in a process of its own and never returns.
[[noreturn]] void run(const Start&);

}  // namespace caisson::warden

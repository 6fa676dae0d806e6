#pragma once

#include <vector>

#include "launch/child_program.h"

namespace caisson {

// The program's own code and constants: clean pages of its file, which the kernel can always read
// again.
std::vector<PageRange> clean_pages();

// Unmaps them: what is still needed comes back from the page cache with the next call, what only
// the start needed does not. For a supervisor that is about to wait.
void give_back_startup_pages();

}  // namespace caisson

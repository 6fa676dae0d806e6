#pragma once

namespace caisson {

// Unmaps the program's own code and constants: what is still needed comes back from the page cache
// with the next call, what only the start needed does not. For a supervisor that is about to wait.
void give_back_startup_pages();

}  // namespace caisson

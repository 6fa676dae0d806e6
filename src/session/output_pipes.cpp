#include "session/output_pipes.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace caisson::session {

Result<OutputPipes> OutputPipes::make() {
  OutputPipes made;
  for (size_t i = 0; i < 2; ++i) {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) return Error::system("make a pipe for a call's output");
    made.readers[i].reset(fds[0]);
    made.writers[i].reset(fds[1]);
    // Of this end only: the cell's is another open file.
    if (::fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0) return Error::system("set up a call's pipe");
  }
  return made;
}

Result<OutputPipes> PipesAhead::take() {
  if (!ready_) return OutputPipes::make();
  OutputPipes taken = std::move(*ready_);
  ready_.reset();
  return taken;
}

void PipesAhead::refill() {
  if (ready_) return;
  if (Result<OutputPipes> made = OutputPipes::make()) ready_ = std::move(*made);
}

}  // namespace caisson::session

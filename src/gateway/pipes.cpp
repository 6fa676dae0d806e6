#include "gateway/pipes.h"

#include <fcntl.h>

namespace caisson {

std::optional<SplicePipe> Pipes::take() {
  if (!free_.empty()) {
    SplicePipe pipe = std::move(free_.back());
    free_.pop_back();
    return pipe;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return std::nullopt;
  SplicePipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  // A user's pipes have a common budget (fs.pipe-user-pages-soft): less is slower, not wrong.
  if (fcntl(pipe.write.get(), F_SETPIPE_SZ, kSize) < 0)
    fcntl(pipe.write.get(), F_SETPIPE_SZ, kSize / 4);
  return pipe;
}

void Pipes::give_back(SplicePipe pipe) {
  // What is left in it belongs to one connection and must never reach another.
  if (pipe.filled != 0 || free_.size() >= kKept) return;
  free_.push_back(std::move(pipe));
}

}  // namespace caisson

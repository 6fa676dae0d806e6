// Pipes through which the kernel moves bytes from socket to socket without a copy. One is held only
// while bytes are in it, so a few serve a thousand connections.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "gateway/one_core.h"

namespace caisson {

struct SplicePipe {
  UniqueFd read, write;
  size_t filled = 0;
};

class Pipes {
 public:
  static constexpr int kSize = 1024 * 1024;  // fs.pipe-max-size, as it is by default
  static constexpr size_t kKept = 16;

  std::optional<SplicePipe> take();  // nullopt: no descriptors left, copy instead
  void give_back(SplicePipe pipe);   // one that isn't empty is closed

  // For copies that no coroutine sleeps over.
  std::array<uint8_t, 64 * 1024> scratch;
  OneCore core;

 private:
  std::vector<SplicePipe> free_;
};

}  // namespace caisson

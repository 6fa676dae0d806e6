// Memory for bodies that are taken in whole: so much for all of them together, and no more.
#pragma once

#include <cstdint>

namespace caisson {

class HeldBytes {
 public:
  static constexpr uint64_t kMost = 256ull * 1024 * 1024;

  HeldBytes(uint64_t& all, uint64_t bytes) : all_(all) {
    if (bytes > kMost || all_ > kMost - bytes) return;
    bytes_ = bytes;
    all_ += bytes;
    granted_ = true;
  }
  ~HeldBytes() { all_ -= bytes_; }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  bool granted() const { return granted_; }

 private:
  uint64_t& all_;
  uint64_t bytes_ = 0;
  bool granted_ = false;
};

}  // namespace caisson

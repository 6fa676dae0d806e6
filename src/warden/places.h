// Where folders stood that are older than the cell and have been moved or removed since.
#pragma once

#include <stdint.h>

namespace caisson::warden {

// A path is a number here, so that none has to be kept. Two paths of one number are a place too
// many; to forget one would be worse, and so a table that is full has every path there is.
class Places {
 public:
  static constexpr uint32_t kMost = 1 << 16;
  void add(const char* path, uint32_t size);
  bool has(const char* path, uint32_t size) const;

 private:
  static constexpr uint32_t kSlots = 2 * kMost;
  uint32_t slot_of(uint64_t number) const;  // that has it, or that is free
  uint64_t slots_[kSlots] = {};             // 0: free
  uint32_t count_ = 0;
};

}  // namespace caisson::warden

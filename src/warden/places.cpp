#include "warden/places.h"

namespace caisson::warden {

// FNV-1a. Letters count without their case, as in match.cpp.
static uint64_t number_of(const char* path, uint32_t size) {
  uint64_t number = 0xcbf29ce484222325u;
  for (uint32_t i = 0; i < size; ++i) {
    char c = path[i] >= 'A' && path[i] <= 'Z' ? static_cast<char>(path[i] + 32) : path[i];
    number = (number ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return number ? number : 1;
}

// At most half of the slots are taken: there is always a free one.
uint32_t Places::slot_of(uint64_t number) const {
  auto at = static_cast<uint32_t>((number ^ number >> 32) % kSlots);
  while (slots_[at] != 0 && slots_[at] != number) at = (at + 1) % kSlots;
  return at;
}

void Places::add(const char* path, uint32_t size) {
  if (count_ >= kMost) return;
  uint64_t number = number_of(path, size);
  uint64_t& slot = slots_[slot_of(number)];
  if (slot == 0) ++count_;
  slot = number;
}

bool Places::has(const char* path, uint32_t size) const {
  if (count_ >= kMost) return true;
  return slots_[slot_of(number_of(path, size))] != 0;
}

}  // namespace caisson::warden

// BodyRoom: what one request's body holds of the memory that there is for all of them. A body is
// memory of the server's, which no cell pays for.
#pragma once

#include <stdint.h>

#include "base/control.h"

namespace caisson::http {

class BodyRoom {
 public:
  static constexpr uint64_t kFree = 1 << 20;  // of each, so that small requests never wait

  BodyRoom(uint64_t& taken, uint64_t most) : taken_(taken), most_(most) {}
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;
  ~BodyRoom() { taken_ -= held_; }

  // So many bytes in all. False: others have the room, unless there are none.
  bool hold(uint64_t bytes) {
    uint64_t wanted = bytes > kFree ? bytes - kFree : 0;
    if (wanted <= held_) return true;
    uint64_t others = taken_ - held_;
    bool is_full = others > 0 && (wanted > most_ || others > most_ - wanted);
    if (is_full && control_enabled("http-bodies")) return false;
    taken_ = others + wanted;
    held_ = wanted;
    return true;
  }

 private:
  uint64_t& taken_;
  uint64_t most_, held_ = 0;
};

}  // namespace caisson::http

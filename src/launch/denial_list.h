// The denials of one execution: each once, some of every kind, and how many were left out.
#pragma once

#include <string_view>

#include "base/kind_room.h"
#include "launch/outcome.h"

namespace caisson {

class DenialList {
 public:
  // True: it is new. One that is known has the larger of both counts from now on.
  bool add(Denial denial, std::string_view kind);
  void add_to(Outcome& outcome) const;

 private:
  KindRoom<Denial> room_{{.shared = 100, .first = 10, .last = 10}};
};

}  // namespace caisson

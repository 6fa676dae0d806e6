// Parts of the binary that are made ready only when they are needed (src/start): the tables of the
// TLS and HTTP/2 libraries. Builds with the usual start have nothing to do.
#pragma once

extern "C" __attribute__((weak)) void caisson_relocate_late();

namespace caisson {

inline void ready_late_data() {
  if (caisson_relocate_late) caisson_relocate_late();
}

}  // namespace caisson

// Parts of the binary that are made ready only when they are needed (src/start): the tables of the
// TLS and HTTP/2 libraries, and what OpenSSL knows of the processor. Builds with the usual start
// have nothing to do.
#pragma once

#include <cstddef>

extern "C" __attribute__((weak)) void caisson_relocate_late();
extern "C" __attribute__((weak)) void caisson_ask_for_sha();

namespace caisson {

inline void ready_late_data() {
  if (caisson_relocate_late) caisson_relocate_late();
}

// To ask takes as long as to hash so many bytes without the processor's own instructions.
constexpr size_t kWorthAsking = 2048;

inline void ready_for_hash_of(size_t bytes) {
  if (bytes >= kWorthAsking && caisson_ask_for_sha) caisson_ask_for_sha();
}

}  // namespace caisson

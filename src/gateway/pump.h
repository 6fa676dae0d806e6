// Bytes moved one way, from one stream to another, with bounded memory.
#pragma once

#include <cstdint>

#include "gateway/deadlines.h"
#include "gateway/pipes.h"
#include "gateway/placeholder.h"
#include "gateway/stream.h"
#include "gateway/traffic.h"
#include "gateway/websocket_mask.h"

namespace caisson {

enum class PumpEnd {
  kEnd,    // the source ended
  kLimit,  // as many bytes as were asked for
  kReadFailed,
  kWriteFailed,
  kBudget,       // spent; the last bytes were not passed on
  kPlaceholder,  // a secret's placeholder on its way to where it has no business
  kUnmaskable,   // a message in which a secret could hide; its undecided bytes were not passed on
};

inline constexpr std::chrono::seconds kIdleTime = std::chrono::minutes(15);

struct Pump {
  Loop& loop;
  Pipes& pipes;
  Traffic& traffic;
  Deadline& deadline;  // moved on whenever bytes move
  Way way;
  PlaceholderScan* scan = nullptr;
  WebSocketMask* mask = nullptr;
  uint64_t limit = UINT64_MAX;
};

Task<PumpEnd> run_pump(Pump& pump, Stream& from, Stream& to);

}  // namespace caisson

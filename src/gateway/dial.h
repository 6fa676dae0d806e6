// Connections of the gateway's own, to what a cell asked for and the rules allow.
#pragma once

#include <memory>
#include <string>

#include "gateway/core.h"
#include "gateway/stream.h"

namespace caisson {

enum class DialEnd {
  kOk,
  kDenied,
  kNoName,
  kNoAnswer /* of any DNS server */,
  kRefused,
  kUnreachable,
  kTimedOut
};

struct Dialed {
  DialEnd end = DialEnd::kUnreachable;
  std::unique_ptr<PlainStream> stream;  // of kOk
  Verdict verdict;                      // of kDenied
  std::string why;                      // one line, of the others
};

// The caller has asked rules.connect(). A name is resolved once; the address that was checked is
// the address that is dialled.
Task<Dialed> dial(Core& core, const HostPort& where, Came came = Came::kOtherwise);

// The host's own proxy, which no rule speaks of.
Task<Dialed> dial_proxy(Core& core, const UpstreamProxy& proxy);

}  // namespace caisson

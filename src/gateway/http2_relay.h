// HTTP/2 of a client, relayed to its host: each request is judged for itself, and heads are written
// anew. Both sides speak HTTP/2: what the host can't, the client isn't offered.
#pragma once

#include <memory>

#include "gateway/core.h"
#include "gateway/stream.h"
#include "rules/rules.h"

namespace caisson {

// Until either side has ended.
Task<> relay_http2(Core& core, Stream& client, Stream& upstream, Scheme scheme,
                   const HostPort& where);

}  // namespace caisson

// A client that is connected to the host it asked for: its first bytes say what may follow.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gateway/core.h"
#include "gateway/stream.h"

namespace caisson {

// `where` has been allowed by rules.connect() and dialled. TLS and HTTP are held to the name that
// was asked for; a host whose requests are judged gets no opaque tunnel. A client that must be
// refused is reset.
Task<> serve_connected(Core& core, Stream& client, std::unique_ptr<PlainStream> upstream,
                       const HostPort& where);

}  // namespace caisson

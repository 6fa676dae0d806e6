// TLS to a host, in place of a client whose TLS was ended.
#pragma once

#include <memory>
#include <string>

#include "gateway/core.h"
#include "gateway/stream.h"

namespace caisson {

// Puts TLS on the stream: the certificate must be valid for `where` under the host's authorities. ""
// or why not, one line.
Task<std::string> start_upstream_tls(Core& core, std::unique_ptr<Stream>& stream, const HostPort& where);

}  // namespace caisson

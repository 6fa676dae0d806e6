// TLS to a host, in place of a client whose TLS was ended.
#pragma once

#include <memory>
#include <string>

#include "gateway/core.h"
#include "gateway/stream.h"

namespace caisson {

enum class HttpVersion { k1, k2 };

struct UpstreamTls {
  std::string why;                        // one line, when there is none
  HttpVersion version = HttpVersion::k1;  // what the host chose
};

// Puts TLS on the stream: the certificate must be valid for `where` under the host's authorities.
// `highest` is what the host is offered.
Task<UpstreamTls> start_upstream_tls(Core& core, std::unique_ptr<Stream>& stream,
                                     const HostPort& where, HttpVersion highest);

}  // namespace caisson

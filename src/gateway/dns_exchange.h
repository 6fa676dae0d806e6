// One question put to one DNS server.
#pragma once

#include "gateway/deadlines.h"
#include "gateway/endpoint.h"
#include "gateway/resolver.h"
#include "gateway/stream.h"

namespace caisson {

// nullopt: no answer that can be believed within `time`.
Task<std::optional<DnsReply>> ask_dns_server(Loop& loop, Deadlines& deadlines, Endpoint server,
                                             std::string name, uint16_t type,
                                             std::chrono::seconds time);

}  // namespace caisson

// The product's server behind an HTTP listener: what `caisson serve --mcp` mounts at one path.
#pragma once

#include "mcp/http_endpoint.h"
#include "mcp/rlm_offer.h"

namespace caisson::mcp {

class Service {
 public:
  Service(Loop& loop, Sessions::MakeHost make, session::SessionSpec base, RlmPlaces places);

  // Host, Origin and the token have been checked, and the body has at most kMaxFrame bytes.
  Task<> handle(http::Request& request, http::Reply& reply) {
    return endpoint_.handle(request, reply);
  }
  Task<> end_all() { return sessions_.end_all(std::chrono::milliseconds(0)); }

 private:
  Sessions sessions_;
  RlmOffer offer_;
  Server server_;
  HttpEndpoint endpoint_;
};

}  // namespace caisson::mcp

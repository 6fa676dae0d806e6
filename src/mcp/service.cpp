#include "mcp/service.h"

#include "mcp/scope.h"

namespace caisson::mcp {

Service::Service(Loop& loop, Sessions::MakeHost make, session::SessionSpec base, RlmPlaces places)
    : sessions_(loop, std::move(make), std::move(base)),
      offer_(sessions_, std::move(places), [](Client& client) { client.scope = random_scope(); }),
      server_(loop, offer_),
      endpoint_(server_, [this](const std::string& scope) { sessions_.end_scope(scope); }) {}

}  // namespace caisson::mcp

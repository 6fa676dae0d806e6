// Where a request goes, and whether it says the same everywhere. Pure.
#pragma once

#include <optional>
#include <string>

#include "gateway/http_head.h"
#include "rules/rules.h"

namespace caisson {

struct HttpDoor {
  Scheme scheme = Scheme::kHttp;
  // Every request goes there, whatever it says. nullopt: this is a proxy, and each request says it.
  std::optional<HostPort> asked;
};

struct HttpRequest {
  HttpHead head;  // the target in origin form
  HostPort where;
  Scheme scheme = Scheme::kHttp;
};

// One of the three.
struct PlacedRequest {
  std::optional<HttpRequest> request;
  std::string malformed;            // one line: 400
  std::optional<Verdict> mismatch;  // it names another host than the connection was made to: 403
  HostPort where;                   // of a mismatch: whom the connection was made to
};
PlacedRequest place_request(HttpHead head, const HttpDoor& door);

}  // namespace caisson

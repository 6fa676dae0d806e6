#include "web/api.h"

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "http/listen.h"
#include "web/encode.h"
#include "web/router.h"

namespace caisson::web {
namespace {

constexpr std::string_view kSessionPrefix = "/v1/sessions/{session}";

// JSON by its name only: a page in a browser can send text/plain or a form to anywhere without
// asking first, but not this type.
bool is_json(const http::Request& request) { return request.has_type("application/json"); }

http::Response unauthorized() {
  http::Response response = http::refusal(
      401, "a token is needed",
      "send \"Authorization: Bearer TOKEN\"; `caisson serve` says where its token is");
  response.fields.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

http::Response not_allowed(const std::string& allow) {
  http::Response response = http::refusal(405, "this path has other methods", "try " + allow);
  response.fields.push_back({"Allow", allow});
  return response;
}

http::Response no_such_session() {
  return http::refusal(404, "there is no such session",
                       "`caisson session list`, or GET /v1/sessions, shows them");
}

}  // namespace

Api::Api(Loop& loop, session::SessionHost& host, ApiOptions options)
    : loop_(loop),
      options_(std::move(options)),
      sessions_(loop, host, options_.offer, options_.state_folder) {}

std::chrono::seconds Api::uptime() const {
  return std::chrono::duration_cast<std::chrono::seconds>(http::Clock::now() - started_);
}

std::optional<http::Response> Api::stranger(const http::Request& request, Door door) {
  // A unix socket's peer was judged when it connected.
  bool known = request.peer.is_unix || door == Door::kOpen ||
               http::same_secret(http::bearer_token(request), options_.token);
  if (known || !control_enabled("http-token")) return {};
  ++counters_.unauthorized;
  return unauthorized();
}

http::Admission Api::admit(const http::Request& request, Door door) {
  // The right to ask comes first: what is there and what isn't is not for everyone.
  if (std::optional<http::Response> refusal = stranger(request, door)) return {std::move(refusal)};
  Match found = match(routes(), request);
  if (door == Door::kOpen && (!found.route || !found.route->may_be_open))
    return {http::refusal(404, "not at this door",
                          "without a token there are /exec /vars /var/NAME /health /snapshot/…")};
  if (!found.route)
    return {found.path_is_known
                ? not_allowed(found.allow)
                : http::refusal(404, "no such path", "GET /v1/openapi.json lists them")};
  const Route& route = *found.route;
  bool wants_json = !route.takes.empty() && route.takes != "bytes";
  if (wants_json && !is_json(request))
    return {http::refusal(415, "the body must be JSON", "Content-Type: application/json")};
  if (route.body_limit == kMemoryOfSession) {
    std::optional<uint64_t> memory = sessions_.memory_of(found.words.at(0));
    if (!memory) return {no_such_session()};
    return {.refusal = {}, .body_limit = *memory, .into_memory = true};
  }
  return {.refusal = {}, .body_limit = route.takes.empty() ? 64 << 10 : route.body_limit};
}

Task<> Api::handle(http::Request& request, http::Reply& reply) {
  ++active_;
  Match found = match(routes(), request);  // admitted, so there is one
  Call call{request, reply, std::move(found.words), nullptr};
  http::Response response;
  bool comes = false;
  if (found.route->path.starts_with(kSessionPrefix)) {
    co_await sessions_.wait_for(call.words[0]);
    call.entry = sessions_.find(call.words[0]);
    comes = !call.entry && sessions_.is_coming(call.words[0]);
    call.words.erase(call.words.begin());
  }
  if (comes)
    response = error_response({"this session is coming back", "try again later", EBUSY});
  else if (found.route->path.starts_with(kSessionPrefix) && !call.entry)
    response = no_such_session();
  else
    response = co_await found.route->handler(*this, call);
  int status = response.status ? response.status : 200;
  ++counters_.answered[status / 100 < 6 ? status / 100 : 5];
  if (response.status) co_await reply.send(std::move(response));
  --active_;
  last_use_ = http::Clock::now();
}

}  // namespace caisson::web

#include "gateway/http_place.h"

#include <fmt/format.h>

#include "base/control.h"
#include "gateway/http_rewrite.h"

namespace caisson {
namespace {

PlacedRequest malformed(std::string why) { return {.malformed = std::move(why)}; }

PlacedRequest mismatch(std::string_view what, const HostPort& told, const HostPort& where) {
  Verdict verdict{false, "host mismatch",
                  fmt::format("the {} names {}, the connection was made to {}", what, told.text(),
                              where.text()),
                  ""};
  return {.mismatch = std::move(verdict), .where = where};
}

}  // namespace

PlacedRequest place_request(HttpHead head, const HttpDoor& door) {
  HttpRequest request{.scheme = door.scheme};
  if (door.asked) request.where = *door.asked;
  // To a proxy every target is absolute; elsewhere some clients send such ones too.
  if (!door.asked || (!head.target.starts_with('/') && head.target != "*")) {
    Result<AbsoluteTarget> absolute = parse_absolute_target(head.target);
    if (!absolute.ok()) return malformed(absolute.error().what);
    if (!door.asked && absolute->scheme != Scheme::kHttp)
      return malformed("https goes through a proxy by CONNECT");
    if (door.asked && !is_same_place(absolute->where, *door.asked))
      return mismatch("request target", absolute->where, *door.asked);
    if (absolute->scheme != door.scheme) return malformed("a scheme that isn't the connection's");
    if (!door.asked) request.where = absolute->where;
    head.target = absolute->path;
  }
  if (head.target == "*" && head.method != "OPTIONS")
    return malformed("a request target that isn't one");
  // Servers go by the Host header, and rules go by whom the connection was made to.
  if (const std::string* text = head.find("Host")) {
    Result<HostPort> told = parse_host_port(*text, request.where.port);
    if (!told.ok()) return malformed(told.error().what);
    if (!is_same_place(*told, request.where) && control_enabled("gateway-host-header"))
      return mismatch("Host header", *told, request.where);
  }
  request.head = std::move(head);
  return {.request = std::move(request)};
}

}  // namespace caisson

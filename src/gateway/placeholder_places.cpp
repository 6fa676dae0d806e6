#include "gateway/placeholder_places.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace caisson {
namespace {

constexpr std::string_view kNoPlace[] = {
    "baggage",
    "cache-control",
    "connection",
    "date",
    "expect",
    "forwarded",
    "from",
    "host",
    "keep-alive",
    "link",
    "location",
    "max-forwards",
    "origin",
    "pragma",
    "range",
    "referer",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
    "warning",
    "x-correlation-id",
    "x-http-method",
    "x-original-url",
    "x-real-ip",
    "x-request-id",
    "x-rewrite-url",
    "x-http-method-override",
};
constexpr std::string_view kNoPlaceStarts[] = {
    ":", "accept", "access-control-", "content-", "if-", "proxy-", "sec-", "x-forwarded-"};

std::string where(const Host& host, uint16_t port) { return HostPort{host, port}.text(); }

std::string rule_of(const Secret& secret) {
  return fmt::format("secret {}@{}{}{}", secret.name, join(secret.hosts, ","),
                     secret.in_body ? ";body" : "", secret.in_url ? ";url" : "");
}

std::string widened(const Secret& secret, std::string_view addition) {
  return fmt::format("--secret '{}=…@{}{}{}{}'", secret.name, join(secret.hosts, ","), addition,
                     secret.in_body ? ";body" : "", secret.in_url ? ";url" : "");
}

std::string_view place_name(SecretPlace place) {
  switch (place) {
    case SecretPlace::kHeader:
      return "a header";
    case SecretPlace::kOtherHeader:
      return "a header that carries no credentials";
    case SecretPlace::kHeaderName:
      return "the name of a header";
    case SecretPlace::kUrl:
      return "the URL";
    case SecretPlace::kBody:
      return "the body";
  }
  return "the request";
}

std::string way_to(const Secret& secret, SecretPlace place) {
  if (place == SecretPlace::kUrl) return widened(secret, ";url");
  if (place == SecretPlace::kBody) return widened(secret, ";body");
  return fmt::format("send ${} in a header such as Authorization or X-Api-Key", secret.name);
}

}  // namespace

bool same_header(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool header_may_carry_secret(std::string_view name) {
  auto is_name = [name](std::string_view each) { return same_header(name, each); };
  auto starts = [name](std::string_view each) {
    return same_header(name.substr(0, each.size()), each);
  };
  return !std::ranges::any_of(kNoPlace, is_name) && !std::ranges::any_of(kNoPlaceStarts, starts);
}

Verdict refuse_host(const Secret& secret, const Host& host, uint16_t port) {
  std::string text = port == kSecretPort ? host.text() : where(host, port);
  return {
      .allowed = false,
      .rule = rule_of(secret),
      .reason = fmt::format("the placeholder of secret {} was sent to {}, which may not have it",
                            secret.name, where(host, port)),
      .how_to_allow = widened(secret, "," + text)};
}

Verdict refuse_plain(const Secret& secret, const Host& host, uint16_t port) {
  return {.allowed = false,
          .rule = rule_of(secret),
          .reason = fmt::format("the placeholder of secret {} was sent to {} without TLS",
                                secret.name, where(host, port)),
          .how_to_allow = "use https"};
}

Verdict refuse_place(const Secret& secret, const Host& host, uint16_t port, SecretPlace place) {
  return {.allowed = false,
          .rule = rule_of(secret),
          .reason = fmt::format("the placeholder of secret {} was sent to {} in {}", secret.name,
                                where(host, port), place_name(place)),
          .how_to_allow = way_to(secret, place)};
}

}  // namespace caisson

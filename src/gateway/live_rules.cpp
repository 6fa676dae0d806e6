#include "gateway/live_rules.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace caisson {

namespace json = boost::json;

namespace {

json::array list_json(const std::vector<std::string>& texts) {
  json::array out;
  for (const std::string& text : texts) out.push_back(json::value(text));
  return out;
}

Result<void> take_list(const json::object& object, std::string_view key,
                       std::vector<std::string>& list) {
  const json::value* value = object.if_contains(key);
  if (!value) return {};
  const json::array* array = value->if_array();
  if (!array) return Error::plain("a list of rules that is no list");
  for (const json::value& each : *array) {
    const json::string* text = each.if_string();
    if (!text) return Error::plain("a rule that is no text");
    list.emplace_back(text->data(), text->size());
  }
  return {};
}

Result<void> take_reasons(const json::object& object,
                          std::vector<std::pair<std::string, std::string>>& reasons) {
  const json::value* value = object.if_contains("deny_reasons");
  if (!value) return {};
  if (!value->is_object()) return Error::plain("reasons that are no object");
  for (const auto& [rule, reason] : value->get_object()) {
    if (!reason.is_string()) return Error::plain("a reason that is no text");
    reasons.emplace_back(rule, std::string_view(reason.get_string()));
  }
  return {};
}

Result<void> take_number(const json::object& object, std::string_view key, uint32_t& number) {
  const json::value* value = object.if_contains(key);
  if (!value) return {};
  boost::system::error_code failed;
  uint32_t taken = value->to_number<uint32_t>(failed);
  if (failed) return Error::plain("a number that is none");
  number = taken;
  return {};
}

Result<void> take_way(const json::object& object, std::string_view key, Unsignable& way) {
  const json::value* value = object.if_contains(key);
  if (!value) return {};
  if (!value->is_bool()) return Error::plain("a switch that is none");
  way = value->get_bool() ? Unsignable::kPassOn : Unsignable::kDeny;
  return {};
}

}  // namespace

std::string live_rules_json(const LiveRules& live) {
  json::object reasons;
  for (const auto& [rule, reason] : live.rules.deny_reasons) reasons[rule] = reason;
  auto passes = [](Unsignable way) { return way == Unsignable::kPassOn; };
  return json::serialize(json::object{{"allow", list_json(live.rules.allow)},
                                      {"deny", list_json(live.rules.deny)},
                                      {"requests", list_json(live.rules.requests)},
                                      {"denied_addresses", list_json(live.rules.denied_addresses)},
                                      {"deny_reasons", std::move(reasons)},
                                      {"mitm_domains", list_json(live.mitm_domains)},
                                      {"tls_excluded", list_json(live.tls_excluded)},
                                      {"max_tunnels", live.max_tunnels},
                                      {"handshake_ms", live.handshake_ms},
                                      {"pass_streaming", passes(live.aws_signing.streaming)},
                                      {"pass_presigned", passes(live.aws_signing.presigned)},
                                      {"pass_sigv4a", passes(live.aws_signing.sigv4a)}});
}

Result<LiveRules> parse_live_rules(std::string_view text) {
  boost::system::error_code failed;
  json::parse_options options;
  options.max_depth = 4;
  json::value value = json::parse({text.data(), text.size()}, failed, {}, options);
  if (failed || !value.is_object()) return Error::plain("rules that are no JSON object");
  const json::object& object = value.get_object();
  LiveRules live;
  TRY(take_list(object, "allow", live.rules.allow));
  TRY(take_list(object, "deny", live.rules.deny));
  TRY(take_list(object, "requests", live.rules.requests));
  TRY(take_list(object, "denied_addresses", live.rules.denied_addresses));
  TRY(take_reasons(object, live.rules.deny_reasons));
  TRY(take_list(object, "mitm_domains", live.mitm_domains));
  TRY(take_list(object, "tls_excluded", live.tls_excluded));
  TRY(take_number(object, "max_tunnels", live.max_tunnels));
  TRY(take_number(object, "handshake_ms", live.handshake_ms));
  TRY(take_way(object, "pass_streaming", live.aws_signing.streaming));
  TRY(take_way(object, "pass_presigned", live.aws_signing.presigned));
  TRY(take_way(object, "pass_sigv4a", live.aws_signing.sigv4a));
  return live;
}

}  // namespace caisson

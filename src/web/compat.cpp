// The first API, as its users know it: one session that nobody names.
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "web/base64.h"
#include "web/calls.h"
#include "web/snapshots.h"

namespace caisson::web {
namespace {

namespace json = boost::json;
using session::CallAnswer;

constexpr uint32_t kMostVars = 1000;
constexpr uint64_t kLargestCompatValue = 16 << 20;
constexpr std::chrono::seconds kDefaultTime{30};

json::array variables_of(const Result<CallAnswer>& answer) {
  const json::value* found = answer.ok() ? answer->result.if_contains("variables") : nullptr;
  return found && found->is_array() ? found->get_array() : json::array();
}

json::value member(const json::value& entry, std::string_view name) {
  const json::value* found = entry.is_object() ? entry.get_object().if_contains(name) : nullptr;
  return found ? *found : json::value("");
}

Task<Result<CallAnswer>> vars_of(EntryPtr entry) {
  Result<Turn> turn = co_await take_turn(entry);
  if (!turn.ok()) co_return turn.error();
  co_return co_await entry->session->vars(kMostVars);
}

Result<ExecOrder> compat_order_of(const http::Request& request) {
  json::object body = TRY(parse_object(request.body));
  ExecOrder order{TRY(needed_text(body, "code")), TRY(time_member(body, "timeout", 1000))};
  if (!order.timeout || order.timeout->count() == 0) order.timeout = kDefaultTime;
  return order;
}

}  // namespace

Task<http::Response> compat_exec(Api& api, Call& call) {
  Result<ExecOrder> order = compat_order_of(call.request);
  if (!order.ok()) co_return error_response(order.error());
  Result<EntryPtr> entry = co_await api.sessions().default_session();
  if (!entry.ok()) co_return error_response(entry.error());
  OnOutput nobody;
  Result<CallAnswer> answer =
      co_await run_code(api, call.reply, *entry, std::move(*order), std::move(nobody));
  if (!answer.ok()) co_return error_response(answer.error());
  Result<CallAnswer> listed = co_await vars_of(*entry);
  json::array names;
  for (const json::value& each : variables_of(listed)) names.push_back(member(each, "name"));
  co_return json_response(json::object{{"output", compat_output(*answer)},
                                       {"stderr", compat_errors(*answer)},
                                       {"vars", std::move(names)}});
}

Task<http::Response> compat_vars(Api& api, Call&) {
  Result<EntryPtr> entry = co_await api.sessions().default_session();
  if (!entry.ok()) co_return error_response(entry.error());
  Result<CallAnswer> listed = co_await vars_of(*entry);
  if (!listed.ok()) co_return error_response(listed.error());
  json::array list;
  for (const json::value& each : variables_of(listed))
    list.push_back(json::object{{"name", member(each, "name")},
                                {"type", member(each, "type")},
                                {"summary", member(each, "summary")}});
  co_return json_response(std::move(list));
}

Task<http::Response> compat_var(Api& api, Call& call) {
  Result<EntryPtr> entry = co_await api.sessions().default_session();
  if (!entry.ok()) co_return error_response(entry.error());
  std::string name = call.words.at(0);
  if (!is_valid_utf8(name))
    co_return json_response(json::object{{"error", "not found: " + printable(name)}});
  Watch watch(call.reply, *entry);
  Result<Turn> turn = co_await watch.take_turn();
  if (!turn.ok()) co_return error_response(turn.error());
  Result<CallAnswer> answer = co_await (*entry)->session->get(name, kLargestCompatValue);
  if (!answer.ok()) co_return error_response(answer.error());
  json::object result;
  if (answer->status == "missing") {
    result["error"] = "not found: " + name;
  } else if (!answer->ok()) {
    result["error"] = compat_errors(*answer);
  } else {
    const json::value* value = answer->result.if_contains("value");
    result["value"] = value ? *value : member(answer->result, "text");
  }
  co_return json_response(std::move(result));
}

Task<http::Response> compat_health(Api&, Call&) {
  co_return json_response(json::object{{"status", "ok"}});
}

Task<http::Response> compat_save(Api& api, Call& call) {
  Result<EntryPtr> entry = co_await api.sessions().default_session();
  if (!entry.ok()) co_return error_response(entry.error());
  Result<json::object> taken = co_await take_snapshot(api, call.reply, *entry);
  co_return object_response(taken);
}

Task<http::Response> compat_restore(Api& api, Call& call) {
  Result<EntryPtr> entry = co_await api.sessions().default_session();
  if (!entry.ok()) co_return error_response(entry.error());
  Result<json::object> back =
      co_await put_snapshot_back(api, call.reply, *entry, call.request.body);
  co_return object_response(back);
}

}  // namespace caisson::web

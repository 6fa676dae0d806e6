#include "web/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace caisson::web {
namespace {

namespace json = boost::json;
using session::CallAnswer;

void count(Api& api, Entry& entry, const CallAnswer& answer) {
  Counters& counters = api.counters();
  ++counters.executions;
  ++entry.calls;
  if (!answer.ok()) ++counters.executions_failed, ++entry.calls_failed;
  if (answer.status == "timeout" || answer.status == "killed" || answer.status == "interrupted")
    ++counters.executions_stopped;
  counters.execution_seconds += answer.milliseconds / 1000;
  counters.output_bytes += answer.output.size() + answer.errors.size();
}

// With the first call after a return: who goes on with a state must know that it isn't the one
// that was.
void tell_losses(Entry& entry, CallAnswer& answer) {
  for (const std::string& loss : entry.losses)
    answer.notes.push_back("the session came back after its server's end: " + loss);
  entry.losses.clear();
}

std::string names_of(std::initializer_list<std::string_view> known) {
  return join(std::vector<std::string>(known.begin(), known.end()), " ");
}

Error wrong(std::string_view name, std::string_view wanted) {
  return {fmt::format("\"{}\" is not {}", name, wanted), {}, EINVAL};
}

}  // namespace

Task<Result<Turn>> take_turn(EntryPtr entry) {
  if (entry->turns->full())
    co_return Error{"too many calls wait for this session", "try again later", EBUSY};
  co_return co_await entry->turns->take();
}

Watch::Watch(http::Reply& reply, EntryPtr entry, bool* running)
    : reply_(reply), entry_(std::move(entry)), running_(running ? *running : unseen_) {
  reply_.on_gone([this] {
    gone_ = true;
    if (running_) entry_->session->interrupt();
  });
}

// The reply outlives this, and must not call into it.
Watch::~Watch() {
  running_ = false;
  reply_.on_gone({});
}

Task<Result<Turn>> Watch::take_turn() {
  Result<Turn> turn = co_await web::take_turn(entry_);
  if (turn.ok() && gone_) co_return Error::plain("the client left before its turn");
  running_ = turn.ok();
  co_return turn;
}

Task<Result<CallAnswer>> run_code(Api& api, http::Reply& reply, EntryPtr entry, ExecOrder order,
                                  OnOutput on_output) {
  Watch watch(reply, entry, order.running);
  Result<Turn> turn = co_await watch.take_turn();
  if (!turn.ok()) co_return turn.error();
  session::ExecRequest request{std::move(order.code), order.timeout, std::move(on_output)};
  Result<CallAnswer> answer = co_await entry->session->exec(std::move(request));
  if (!answer.ok()) co_return answer;
  count(api, *entry, *answer);
  tell_losses(*entry, *answer);
  co_return answer;
}

Result<std::string> text_member(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  if (!found || found->is_null()) return std::string();
  if (!found->is_string()) return wrong(name, "a text");
  return std::string(found->get_string());
}

Result<std::string> needed_text(const json::object& object, std::string_view name) {
  if (!object.if_contains(name)) return Error{fmt::format("\"{}\" is missing", name), {}, EINVAL};
  return text_member(object, name);
}

Result<std::optional<double>> number_member(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  if (!found || found->is_null()) return std::optional<double>();
  boost::system::error_code failed;
  double number = found->to_number<double>(failed);
  if (failed || !(number >= 0) || number > 1e12) return wrong(name, "a number");
  return std::optional<double>(number);
}

Result<void> only_members(const json::object& object,
                          std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : object)
    if (std::ranges::find(known, std::string_view(name)) == known.end())
      return Error{fmt::format("unknown member \"{}\"", printable(name)), names_of(known), EINVAL};
  return {};
}

Result<std::optional<std::chrono::milliseconds>> time_member(const json::object& object,
                                                             std::string_view name, double unit) {
  std::optional<double> number = TRY(number_member(object, name));
  if (!number) return std::optional<std::chrono::milliseconds>();
  // A little time is not none, which would be no limit at all.
  return std::optional(std::chrono::milliseconds(static_cast<int64_t>(std::ceil(*number * unit))));
}

Result<uint64_t> number_parameter(const http::Request& request, std::string_view name,
                                  uint64_t otherwise, uint64_t most) {
  std::optional<std::string> text = request.parameter(name);
  if (!text) return otherwise;
  uint64_t number = 0;
  auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (text->empty() || failed != std::errc() || end != text->data() + text->size())
    return wrong(name, "a whole number");
  return std::min(number, most);
}

http::Response answer_response(const Result<CallAnswer>& answer) {
  if (!answer.ok()) return error_response(answer.error());
  return json_response(answer_json(*answer, WithOutput::kYes),
                       answer->status == "missing" ? 404 : 200);
}

http::Response object_response(const Result<json::object>& object, int status) {
  return object.ok() ? json_response(*object, status) : error_response(object.error());
}

}  // namespace caisson::web

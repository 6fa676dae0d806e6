// Functions of the host, called from inside. Their arguments are user code's words; how many calls
// there may be is the host's.
#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "session/lane.h"

namespace caisson::session {

namespace json = boost::json;

namespace {

constexpr uint32_t kMostUnanswered = 64;
// As py/hostcalls.py has it, for one call; and for all that one exec makes.
constexpr size_t kMostCallBytes = 64u << 20, kMostCallValues = 4'200'000;
constexpr uint64_t kMostExecBytes = 256u << 20;
constexpr size_t kMostBatch = 10000;
constexpr size_t kBatchWorkers = 16;  // of one batch at the same time

const HostFunction* find_function(const std::vector<HostFunction>& all, std::string_view name) {
  for (const HostFunction& one : all)
    if (one.name == name) return &one;
  return nullptr;
}

json::object arguments_of(json::value args, json::object kwargs) {
  return {{"args", std::move(args)}, {"kwargs", std::move(kwargs)}};
}

// The arguments are a cell's: a function that asks more of them than they are (boost::json throws)
// must not end the host.
Task<Result<json::value>> call_safely(HostFunction function, json::object arguments) {
  try {
    co_return co_await function.call(std::move(arguments));
  } catch (const std::exception& error) {
    co_return Error::plain(fmt::format("the host's function failed: {}", error.what()));
  }
}

std::string no_calls_left(uint32_t budget) {
  return fmt::format("the budget of {} host calls in one exec is spent", budget);
}

// One batch: workers take the next item until none is left; the first failure is the answer.
struct Batch {
  Batch(Loop& loop, json::array from) : done(loop), items(std::move(from)), values(items.size()) {}
  Event done;
  json::array items;
  json::array values;
  size_t next = 0, working = 0;
  std::optional<Error> failed;
};

Task<> work_on(std::shared_ptr<Batch> batch, HostFunction function, json::object kwargs) {
  while (!batch->failed && batch->next < batch->items.size()) {
    size_t mine = batch->next++;
    Result<json::value> value =
        co_await call_safely(function, arguments_of(std::move(batch->items[mine]), kwargs));
    if (value)
      batch->values[mine] = std::move(*value);
    else
      batch->failed = value.error();
  }
  if (--batch->working == 0) batch->done.set();
}

}  // namespace

Result<json::object> Lane::accept_host_call(Frame frame) {
  if (frame.spilled) {
    uint64_t left = kMostExecBytes - std::min(kMostExecBytes, waiting_->host_call_bytes);
    frame.body += TRY(read_sealed(frame.spilled, std::min<uint64_t>(kMostCallBytes, left)));
  }
  waiting_->host_call_bytes += frame.body.size();
  json::object call = TRY(parse_object(frame.body, kMostCallValues));
  const json::value *number = call.if_contains("call"), *name = call.if_contains("name");
  if (!number || !number->is_int64() || !name || !name->is_string())
    return Error::plain("a call of a host function without number or name");
  return call;
}

// Why no call can be made any more, if so.
std::string Lane::spent() const {
  if (waiting_->host_calls >= options_.host_calls) return no_calls_left(options_.host_calls);
  if (waiting_->host_call_bytes >= kMostExecBytes)
    return fmt::format("the budget of {} bytes for host calls in one exec is spent",
                       kMostExecBytes);
  return {};
}

void Lane::serve_host_call(Frame frame) {
  uint32_t request = frame.request;
  if (!waiting_ || !waiting_->is_call || request != waiting_->request) return;
  if (options_.functions.empty()) return;
  // A large body is not read for a call that can't be made. Its number is in it, so that the answer
  // has none, and is for all that wait.
  if (std::string why = spent(); frame.spilled && !why.empty())
    return reply(request, {{"call", nullptr}, {"error", why}});
  Result<json::object> call = accept_host_call(std::move(frame));
  if (!call) return reply(request, {{"call", nullptr}, {"error", call.error().what}});
  const json::value* batch = call->if_contains("batch");
  size_t cost = batch && batch->is_array() ? batch->get_array().size() : 1;
  if (waiting_->unanswered >= kMostUnanswered || cost > kMostBatch)
    return reply(request, {{"call", call->at("call")}, {"error", "too many calls at once"}});
  std::string why = spent();
  if (why.empty() && waiting_->host_calls + cost > options_.host_calls)
    why = no_calls_left(options_.host_calls);
  if (!why.empty() && control_enabled("session-budget"))
    return reply(request, {{"call", call->at("call")}, {"error", why}});
  waiting_->host_calls += static_cast<uint32_t>(cost);
  ++waiting_->unanswered;
  spawn(loop_, run_host_call(shared_from_this(), request, std::move(*call)));
}

Task<> Lane::run_host_call(std::shared_ptr<Lane> lane, uint32_t request, json::object call) {
  json::value number = call.at("call");
  Result<json::value> value = co_await lane->run_function(std::move(call));
  Waiting* waiting = lane->waiting_;
  if (!waiting || waiting->request != request) co_return;  // the call is over
  --waiting->unanswered;
  if (value)
    lane->reply(request, {{"call", number}, {"value", std::move(*value)}});
  else
    lane->reply(request, {{"call", number}, {"error", value.error().what}});
}

Task<Result<json::value>> Lane::run_function(json::object call) {
  const HostFunction* found = find_function(options_.functions, call.at("name").get_string());
  if (!found || !found->call) co_return Error::plain("the host has no such function");
  HostFunction function = *found;
  json::object kwargs;
  if (json::value* given = call.if_contains("kwargs"); given && given->is_object())
    kwargs = std::move(given->get_object());
  json::value* items = call.if_contains("batch");
  if (!items || !items->is_array()) {
    json::value* args = call.if_contains("args");
    json::value given = args && args->is_array() ? std::move(*args) : json::array{};
    co_return co_await call_safely(function, arguments_of(std::move(given), std::move(kwargs)));
  }
  auto batch = std::make_shared<Batch>(loop_, std::move(items->get_array()));
  batch->working = std::min(kBatchWorkers, batch->items.size());
  if (batch->working == 0) co_return json::array{};
  for (size_t i = batch->working; i > 0; --i) spawn(loop_, work_on(batch, function, kwargs));
  bool done = co_await batch->done.wait(SteadyClock::time_point::max());
  (void)done;
  if (batch->failed) co_return *batch->failed;
  co_return json::value(std::move(batch->values));
}

void Lane::reply(uint32_t request, json::object body) {
  (void)channel_->send(FrameType::kHostReply, request, "", json::serialize(body), {});
}

}  // namespace caisson::session

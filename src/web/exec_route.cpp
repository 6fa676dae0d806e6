// Code in, answers out: whole, or as server-sent events while it runs.
#include <fmt/format.h>

#include "web/calls.h"
#include "web/utf8.h"

namespace caisson::web {
namespace {

namespace json = boost::json;
using session::CallAnswer;
using session::OutputStream;

constexpr std::chrono::seconds kKeepAlive{15};  // proxies drop streams that say nothing

Result<ExecOrder> order_of(const http::Request& request) {
  json::object body = TRY(parse_object(request.body));
  TRY(only_members(body, {"code", "timeout_ms"}));
  ExecOrder order{TRY(needed_text(body, "code")), TRY(time_member(body, "timeout_ms", 1))};
  if (order.timeout && order.timeout->count() == 0)
    return Error{"\"timeout_ms\" is 0", "at least 1; without it the session's own limit holds",
                 EINVAL};
  return order;
}

// What the code writes, on its way to a client that may read slower: at most the call's own limit
// of output waits here, since the session stops passing on what is beyond it.
struct Waiting {
  explicit Waiting(Loop& loop) : bell(loop) {}
  http::Bell bell;
  std::string events;
  Utf8Stream out, err;
  std::optional<Result<CallAnswer>> answer;
  bool running = false;

  void add(OutputStream stream, std::string_view bytes) {
    bool is_out = stream == OutputStream::kStdout;
    put(is_out ? "stdout" : "stderr", (is_out ? out : err).feed(bytes));
  }
  void put(std::string_view name, std::string text) {
    if (text.empty()) return;
    events += sse_event(name, json::object{{"text", std::move(text)}});
    bell.ring();
  }
  void end(Result<CallAnswer> result) {
    put("stdout", out.finish());
    put("stderr", err.finish());
    if (result.ok())
      events += sse_event("result", answer_json(*result, WithOutput::kNo));
    else
      events += sse_event(
          "error", json::object{{"what", result.error().what}, {"hint", result.error().hint}});
    answer.emplace(std::move(result));
    bell.ring();
  }
};

Task<> run_and_tell(Api& api, Call& call, ExecOrder order, Waiting& waiting) {
  OnOutput tell = [&waiting](OutputStream stream, std::string_view bytes) {
    waiting.add(stream, bytes);
  };
  Result<CallAnswer> answer =
      co_await run_code(api, call.reply, call.entry, std::move(order), std::move(tell));
  waiting.end(std::move(answer));
}

// Ends only when the call has ended, whether or not anybody still reads: the call writes into this
// frame.
Task<http::Response> stream_code(Api& api, Call& call, ExecOrder order) {
  http::Response head;
  head.fields.push_back({"Content-Type", "text/event-stream"});
  co_await call.reply.begin(std::move(head));
  Waiting waiting(api.loop());
  order.running = &waiting.running;
  spawn(api.loop(), run_and_tell(api, call, std::move(order), waiting));
  for (;;) {
    bool ended = waiting.answer.has_value();
    if (!waiting.events.empty()) {
      std::string events = std::exchange(waiting.events, {});
      Result<void> written = co_await call.reply.write(events);
      if (!written.ok() && waiting.running) call.entry->session->interrupt();
    } else if (!ended) {
      http::Clock::time_point until = http::Clock::now() + kKeepAlive;
      co_await waiting.bell.wait_until(until);
      if (waiting.events.empty() && http::Clock::now() >= until) waiting.events = ":\n\n";
    }
    if (ended && waiting.events.empty()) break;
  }
  co_await call.reply.finish();
  http::Response answered;
  answered.status = 0;
  co_return answered;
}

}  // namespace

Task<http::Response> exec_code(Api& api, Call& call) {
  Result<ExecOrder> order = order_of(call.request);
  if (!order.ok()) co_return error_response(order.error());
  if (call.request.lists("Accept", "text/event-stream"))
    co_return co_await stream_code(api, call, std::move(*order));
  OnOutput nobody;
  Result<CallAnswer> answer =
      co_await run_code(api, call.reply, call.entry, std::move(*order), std::move(nobody));
  co_return answer_response(answer);
}

}  // namespace caisson::web

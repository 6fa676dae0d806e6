// What each tool does.
#include <fmt/format.h>
#include <sys/random.h>

#include "base/scope_exit.h"
#include "base/text.h"
#include "mcp/rlm_offer.h"

namespace caisson::mcp {

namespace {

using Clock = http::Clock;

constexpr std::string_view kDefaultSession = "main";
constexpr uint64_t kMaxFetched = 4 << 20;  // bytes of one value
constexpr size_t kMaxTail = 2000;          // bytes of partial output in one message
constexpr auto kProgressEvery = std::chrono::milliseconds(100);
constexpr auto kAliveEvery = std::chrono::seconds(5);

// Partial output of a call that runs, told at a bounded rate; and a sign of life when there is
// none, for clients that give up on silence.
class Reporter : public std::enable_shared_from_this<Reporter> {
 public:
  explicit Reporter(Call& call) : call_(&call), timer_(call.loop().get_executor()) {}

  void output(std::string_view bytes) {
    if (!call_ || !call_->wants_progress()) return;
    tail_ += bytes;
    if (tail_.size() > kMaxTail) tail_.erase(0, tail_.size() - kMaxTail);
    if (Clock::now() - last_ >= kProgressEvery) tell();
  }

  void keep_alive() {
    if (!call_ || !call_->wants_progress()) return;
    timer_.expires_after(kAliveEvery);
    timer_.async_wait([self = shared_from_this()](boost::system::error_code stopped) {
      if (stopped || !self->call_) return;
      self->tell();
      self->keep_alive();
    });
  }

  void end() {
    call_ = nullptr;
    timer_.cancel();
  }

 private:
  void tell() {
    last_ = Clock::now();
    double seconds = std::chrono::duration<double>(last_ - start_).count();
    std::string text =
        tail_.empty() ? fmt::format("running for {:.0f} s", seconds) : clean_utf8(tail_);
    tail_.clear();
    call_->progress(seconds, std::nullopt, text);
  }

  Call* call_;  // null when the call is over
  http::Timer timer_;
  std::string tail_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

// Nobody guesses it: over HTTP it is all that keeps two clients apart.
std::string random_name() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) std::abort();
  return "s-" + hex(bytes);
}

}  // namespace

const RlmOffer::Handler RlmOffer::kHandlers[kToolCount] = {
    &RlmOffer::exec,       &RlmOffer::load,      &RlmOffer::get,
    &RlmOffer::vars,       &RlmOffer::sub_agent, &RlmOffer::reset,
    &RlmOffer::checkpoint, &RlmOffer::restore,   &RlmOffer::branch};

std::string RlmOffer::Use::text(std::string_view key) const {
  const json::value* value = arguments.if_contains(key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

Task<Answer> RlmOffer::call_tool(Call& call, std::string name, json::object arguments) {
  for (size_t number = 0; number < kToolCount; ++number) {
    if (kTools[number].name != name) continue;
    json::object result = co_await use(call, number, std::move(arguments));
    co_return result;
  }
  co_return RpcError{Code::kInvalidParams,
                     fmt::format("no tool \"{}\"", printable(name.substr(0, 100))), nullptr};
}

// Which session the call means; an error when it can't be told.
std::optional<std::string> RlmOffer::choose_session(Use& use, size_t number) {
  Client& client = use.call.client();
  use.name = use.text("session");
  if (client.has_default_session) {
    if (use.name.empty()) use.name = kDefaultSession;
    return std::nullopt;
  }
  if (!use.name.empty()) {
    if (sessions_.has(client.scope, use.name)) return std::nullopt;
    return fmt::format(
        "Error: there is no session \"{}\". Leave `session` out of rlm_exec or "
        "rlm_load to start one; the result says its name.",
        use.name);
  }
  if (number != kExec && number != kLoad)
    return "Error: say which session: pass `session` with the name that rlm_exec or rlm_load gave.";
  use.name = random_name();
  use.fresh = true;
  return std::nullopt;
}

// In two steps, outside of the coroutine: GCC 12's sanitizer checks a wrong index in one.
Task<json::object> RlmOffer::handle(size_t number, Use& use) {
  Handler handler = kHandlers[number];
  return (this->*handler)(use);
}

Task<json::object> RlmOffer::use(Call& call, size_t number, json::object arguments) {
  if (auto wrong = check_arguments(kTools[number], arguments))
    co_return error_result("Error: " + *wrong);
  Use use{call, std::move(arguments), {}, false, {}, {}};
  if (number == kSubAgent) co_return co_await sub_agent(use);
  if (call.client().scope.empty()) settle_(call.client());
  if (auto wrong = choose_session(use, number)) co_return error_result(std::move(*wrong));
  auto seat = sessions_.seat(call.client().scope, use.name);
  if (!seat) co_return error_result(error_line(seat.error()));
  use.seat = *seat;
  bool entered = co_await use.seat->turns.enter(call);
  if (!entered) co_return json::object{};
  ScopeExit leave([&use] { use.seat->turns.leave(); });
  auto session = co_await sessions_.session_of(*use.seat);
  if (!session) co_return error_result(error_line(session.error()));
  use.session = *session;
  call.on_cancel([session = use.session] { session->interrupt(); });
  json::object result = co_await handle(number, use);
  call.on_cancel(nullptr);
  co_return result;
}

Task<json::object> RlmOffer::exec(Use& use) {
  session::ExecRequest request;
  request.code = use.text("code");
  if (const json::value* seconds = use.arguments.if_contains("timeout");
      seconds && seconds->is_number())
    request.timeout = std::chrono::milliseconds(
        static_cast<int64_t>(seconds->to_number<double>() * 1000 + 0.999));
  auto reporter = std::make_shared<Reporter>(use.call);
  request.on_output = [reporter](session::OutputStream, std::string_view bytes) {
    reporter->output(bytes);
  };
  reporter->keep_alive();
  Result<session::CallAnswer> answer = co_await use.session->exec(std::move(request));
  reporter->end();
  if (!answer) co_return error_result(error_line(answer.error()));
  co_return present(use, show_exec(*answer));
}

std::string RlmOffer::absolute(std::string path) const {
  if (path == "~" || path.starts_with("~/")) return places_.home + path.substr(1);
  if (path.starts_with('/')) return path;
  return places_.project + "/" + path;
}

Task<json::object> RlmOffer::load(Use& use) {
  std::string path = use.text("path"), variable = use.text("var_name"), as = use.text("as");
  if (as.empty()) as = "text";
  if (path.empty() || path.find('\0') != std::string::npos)
    co_return error_result("Error: file not found: " + printable(path));
  std::string whole = absolute(path);
  Result<session::CallAnswer> answer = co_await use.session->load(whole, variable, as);
  if (!answer) co_return error_result(load_error_text(answer.error(), path));
  co_return present(use, show_load(*answer, path, variable));
}

Task<json::object> RlmOffer::get(Use& use) {
  std::string query = use.text("query");
  Task<Result<session::CallAnswer>> asked = query.empty()
                                                ? use.session->get(use.text("name"), kMaxFetched)
                                                : use.session->evaluate(query, kMaxFetched);
  Result<session::CallAnswer> answer = co_await std::move(asked);
  if (!answer) co_return error_result(error_line(answer.error()));
  co_return present(use, show_value(*answer));
}

Task<json::object> RlmOffer::vars(Use& use) {
  Result<session::CallAnswer> answer = co_await use.session->vars(1000);
  if (!answer) co_return error_result(error_line(answer.error()));
  co_return present(use, show_vars(*answer));
}

Task<json::object> RlmOffer::sub_agent(Use&) {
  co_return error_result(
      "Error: this build has no language-model engine for sub-agents. Do the reasoning yourself "
      "and "
      "use rlm_exec for what code can do.");
}

Task<json::object> RlmOffer::reset(Use& use) {
  // A named session is given up: the next call by that name starts a new one, and its place is
  // free meanwhile.
  if (use.name != kDefaultSession && use.call.client().has_default_session) {
    Result<void> ended = co_await sessions_.forget(*use.seat);
    if (!ended) co_return error_result(error_line(ended.error()));
    co_return text_result("Sandbox reset.");
  }
  Result<json::object> done = co_await use.session->reset();
  if (!done) co_return error_result(error_line(done.error()));
  co_return text_result("Sandbox reset.");
}

Task<json::object> RlmOffer::checkpoint(Use& use) {
  std::string name = use.text("name");
  Result<json::object> done = co_await use.session->checkpoint(name);
  if (!done) co_return error_result(error_line(done.error()));
  co_return text_result(fmt::format("Checkpoint `{}` taken.", name));
}

Task<json::object> RlmOffer::restore(Use& use) {
  std::string name = use.text("name");
  Result<json::object> done = co_await use.session->restore(name);
  if (!done) co_return error_result(error_line(done.error()));
  co_return text_result(fmt::format("Restored checkpoint `{}`.", name));
}

Task<json::object> RlmOffer::branch(Use& use) {
  std::string name = use.text("new_session"), from = use.text("checkpoint");
  std::string scope = use.call.client().scope;
  Result<void> done = co_await sessions_.branch(*use.seat, scope, name, std::move(from));
  if (!done) co_return error_result(error_line(done.error()));
  co_return text_result(fmt::format(
      "Session `{}` is a copy of `{}`. Pass session=\"{}\" to work in it.", name, use.name, name));
}

}  // namespace caisson::mcp

// What each tool does.
#include <fmt/format.h>
#include <sys/random.h>

#include <set>

#include "base/scope_exit.h"
#include "base/text.h"
#include "mcp/rlm_offer.h"
#include "session/answers.h"

namespace caisson::mcp {

namespace {

using std::chrono::milliseconds;

constexpr std::string_view kDefaultSession = "main";
constexpr uint64_t kMaxFetched = 4 << 20;  // bytes of one value
constexpr size_t kMaxRefusals = 3;         // that one result tells

// Nobody guesses it: over HTTP it is all that keeps two clients apart.
std::string random_name() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) std::abort();
  return "s-" + hex(bytes);
}

// What the network refuses has a reason and a way to allow it. What the rules for files refuse has
// the rule, and a hint that is no way where there is none.
std::string told(const session::Refusal& one) {
  if (one.reason.empty())
    return fmt::format("{} is refused ({}): {}", one.resource, one.rule, one.how_to_allow);
  return fmt::format("{}: {}{}{}", one.resource, one.reason,
                     one.how_to_allow.empty() ? "" : "; to allow it: ", one.how_to_allow);
}

// One line for each of a few: the names in it are the cell's choice, and it may try thousands.
void add_refusals(std::string& text, const std::vector<session::Refusal>& refusals) {
  std::set<std::string_view> seen;
  for (const session::Refusal& one : refusals)
    if (seen.insert(one.resource).second && seen.size() <= kMaxRefusals)
      text += "\n[denied] " + told(one);
  if (seen.size() > kMaxRefusals)
    text += fmt::format("\n[denied] … and {} more", seen.size() - kMaxRefusals);
}

// What a checkpoint could not hold.
std::string losses_of(const json::object& done) {
  const json::value* entry = done.if_contains("checkpoint");
  std::string lost =
      entry && entry->is_object() ? session::not_kept(entry->get_object()) : std::string();
  return lost.empty() ? lost : "\n[note] " + lost;
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
        "Error: there is no session \"{}\": it never was, or it made room for others. Leave "
        "`session` out of rlm_exec or rlm_load to start one; the result says its name.",
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
  Use use{call, std::move(arguments), {}, false, {}, {}, std::make_shared<Reporter>(call)};
  ScopeExit silence([&use] { use.reporter->end(); });
  if (number == kSubAgent) co_return co_await sub_agent(use);
  if (call.client().scope.empty()) settle_(call.client());
  if (auto wrong = choose_session(use, number)) co_return error_result(std::move(*wrong));
  auto seat = sessions_.seat(call.client().scope, use.name, use.fresh);
  if (!seat) co_return error_result(error_line(seat.error()));
  use.seat = *seat;
  if (number == kReset) make_way(*use.seat);
  Turn turn = co_await take_turn(use);
  if (turn != Turn::kMine) co_return without_turn(use, turn);
  ScopeExit leave([&use] { use.seat->turns.leave(); });
  auto session = co_await sessions_.session_of(*use.seat);
  if (!session) co_return error_result(error_line(session.error()));
  use.session = *session;
  call.on_cancel([session = use.session] { session->interrupt(); });
  use.reporter->run();
  json::object result = co_await handle(number, use);
  call.on_cancel(nullptr);
  co_return result;
}

// What runs is stopped, as if it had been cancelled, and what waits was meant for a state that is
// going: a session that is stuck must have a way out that doesn't wait for it.
void RlmOffer::make_way(Seat& seat) {
  seat.turns.send_away();
  if (seat.turns.idle() || !seat.session) return;
  seat.reset_came = true;
  seat.session->interrupt();
}

Task<Turn> RlmOffer::take_turn(Use& use) {
  if (!use.seat->turns.idle()) use.reporter->wait();
  Turn turn = co_await use.seat->turns.enter(use.call, http::Clock::now() + use.timeout());
  if (turn == Turn::kMine) use.seat->reset_came = false;
  use.waited = std::chrono::duration_cast<milliseconds>(use.reporter->age());
  co_return turn;
}

json::object RlmOffer::without_turn(const Use& use, Turn turn) {
  if (turn == Turn::kCancelled) return {};
  if (turn == Turn::kSentAway)
    return error_result(
        "Error: the session was reset before this call's turn came: it has not run. Call again, if "
        "it is still meant.");
  return error_result(fmt::format(
      "Error: the session is busy: an earlier call has run for {:.0f} s, and this one has waited "
      "for {:.1f} s without running. Use another `session`, call again with a longer `timeout`, or "
      "stop the earlier call by rlm_reset.",
      use.seat->turns.seconds(), static_cast<double>(use.waited.count()) / 1000));
}

// Of the whole call, waiting included.
milliseconds RlmOffer::Use::timeout() const {
  const json::value* seconds = arguments.if_contains("timeout");
  if (!seconds || !seconds->is_number()) return session::SessionSpec().call_timeout;
  return milliseconds(static_cast<int64_t>(seconds->to_number<double>() * 1000 + 0.999));
}

Task<json::object> RlmOffer::exec(Use& use) {
  session::ExecRequest request;
  request.code = use.text("code");
  request.timeout = std::max(use.timeout() - use.waited, milliseconds(1));
  request.on_output = [reporter = use.reporter](session::OutputStream, std::string_view bytes) {
    reporter->output(bytes);
  };
  Result<session::CallAnswer> answer = co_await use.session->exec(std::move(request));
  use.reporter->end();
  if (!answer) co_return error_result(error_line(answer.error()));
  explain(use, *answer);
  Shown shown = show_exec(*answer);
  add_refusals(shown.text, use.session->take_refusals());
  co_return present(use, std::move(shown));
}

// What the session itself can't know of how a call ended.
void RlmOffer::explain(const Use& use, session::CallAnswer& answer) const {
  if (answer.status != "ok" && use.seat->reset_came) answer.notes.push_back("rlm_reset stopped it");
  if (answer.status == "timeout" && use.waited >= std::chrono::seconds(1))
    answer.notes.push_back(fmt::format("of its time it had waited {:.1f} s for an earlier call",
                                       static_cast<double>(use.waited.count()) / 1000));
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
  session::LoadAs how{as, use.text("encoding")};  // no list in braces inside co_await: GCC 12
  Result<session::CallAnswer> answer = co_await use.session->load(whole, variable, how);
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
  co_return text_result(fmt::format("Checkpoint `{}` taken.{}", name, losses_of(*done)));
}

Task<json::object> RlmOffer::restore(Use& use) {
  std::string name = use.text("name");
  Result<json::object> done = co_await use.session->restore(name);
  if (!done) co_return error_result(error_line(done.error()));
  co_return text_result(fmt::format("Restored checkpoint `{}`.{}", name, losses_of(*done)));
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

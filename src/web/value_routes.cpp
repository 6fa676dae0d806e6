// Variables in and out, and files of the workspace.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "web/calls.h"
#include "web/files.h"

namespace caisson::web {
namespace {

namespace json = boost::json;
using session::CallAnswer;

constexpr uint64_t kLargestValue = 64 << 20, kUsualValue = 1 << 20;

// By the type that the client says it sends; JSON is parsed inside, never here.
std::string kind_of(const http::Request& request) {
  const std::string* type = request.find("Content-Type");
  if (!type) return "bytes";
  if (request.has_type("application/json")) return "json";
  return http::same_text(std::string_view(*type).substr(0, 5), "text/") ? "text" : "bytes";
}

struct Wanted {
  std::string what;
  uint64_t max_bytes = 0;
};
Result<Wanted> expression_of(const http::Request& request) {
  json::object body = TRY(parse_object(request.body));
  double most = TRY(number_member(body, "max_bytes")).value_or(kUsualValue);
  return Wanted{TRY(needed_text(body, "expression")),
                std::min(static_cast<uint64_t>(most), kLargestValue)};
}

constexpr std::string_view kLoadedAs[] = {"auto", "text", "bytes", "dataframe"};

struct LoadOrder {
  std::string path, name;
  session::LoadAs how;
};
Result<LoadOrder> load_order(const http::Request& request) {
  json::object body = TRY(parse_object(request.body));
  LoadOrder order{TRY(needed_text(body, "path")),
                  TRY(needed_text(body, "name")),
                  {TRY(text_member(body, "as")), TRY(text_member(body, "encoding"))}};
  std::string& kind = order.how.kind;
  if (kind.empty()) kind = "auto";
  if (std::ranges::find(kLoadedAs, kind) == std::end(kLoadedAs))
    return Error{fmt::format("\"as\" is \"{}\"", printable(kind)), "auto, text, bytes or dataframe",
                 EINVAL};
  return order;
}

http::Response no_name() { return http::refusal(400, "a variable's name is UTF-8", "%C3%A9 is é"); }

session::FileOrder file_order(const Call& call, session::FileDeed deed) {
  std::vector<std::string> words = call.words;
  // files/ and files/folder/ are looked at as files and files/folder are.
  if (deed == session::FileDeed::kLook && !words.empty() && words.back().empty()) words.pop_back();
  return {deed, call.entry->session->info().workspace, path_of(words), {}};
}

http::Response file_response(session::FileAnswer answer) {
  if (answer.is_listing)
    return http::Response{200, {{"Content-Type", "application/json"}}, answer.bytes + "\n"};
  return http::Response{200,
                        {{"Content-Type", "application/octet-stream"},
                         // A page that a cell wrote must not run in the API's origin.
                         {"Content-Disposition", "attachment"},
                         {"Content-Security-Policy", "sandbox"}},
                        std::move(answer.bytes)};
}

}  // namespace

Task<http::Response> list_vars(Api&, Call& call) {
  Result<uint64_t> limit = number_parameter(call.request, "limit", 1000, 10'000);
  if (!limit.ok()) co_return error_response(limit.error());
  Watch watch(call.reply, call.entry);
  Result<Turn> turn = co_await watch.take_turn();
  if (!turn.ok()) co_return error_response(turn.error());
  auto most = static_cast<uint32_t>(*limit);
  Result<CallAnswer> answer = co_await call.entry->session->vars(most);
  co_return answer_response(answer);
}

Task<http::Response> get_var(Api&, Call& call) {
  Result<uint64_t> most = number_parameter(call.request, "max_bytes", kUsualValue, kLargestValue);
  if (!most.ok()) co_return error_response(most.error());
  Watch watch(call.reply, call.entry);
  Result<Turn> turn = co_await watch.take_turn();
  if (!turn.ok()) co_return error_response(turn.error());
  const std::string& name = call.words.at(0);
  if (!is_valid_utf8(name)) co_return no_name();
  Result<CallAnswer> answer = co_await call.entry->session->get(name, *most);
  if (answer.ok() && answer->status == "missing")
    co_return http::refusal(404, fmt::format("there is no variable {}", printable(name)),
                            "`caisson session vars`, or GET …/vars, shows them");
  co_return answer_response(answer);
}

Task<http::Response> set_var(Api&, Call& call) {
  if (!is_valid_utf8(call.words.at(0))) co_return no_name();
  Watch watch(call.reply, call.entry);
  Result<Turn> turn = co_await watch.take_turn();
  if (!turn.ok()) co_return error_response(turn.error());
  std::string name = call.words.at(0), kind = kind_of(call.request);
  session::Session& session = *call.entry->session;
  if (call.request.memory) {
    Result<CallAnswer> lent = co_await session.set_lent(name, kind, std::move(call.request.memory));
    co_return answer_response(lent);
  }
  Result<CallAnswer> answer = co_await session.set(name, kind, std::move(call.request.body));
  co_return answer_response(answer);
}

Task<http::Response> evaluate(Api&, Call& call) {
  Result<Wanted> wanted = expression_of(call.request);
  if (!wanted.ok()) co_return error_response(wanted.error());
  Watch watch(call.reply, call.entry);
  Result<Turn> turn = co_await watch.take_turn();
  if (!turn.ok()) co_return error_response(turn.error());
  Result<CallAnswer> answer =
      co_await call.entry->session->evaluate(wanted->what, wanted->max_bytes);
  co_return answer_response(answer);
}

Task<http::Response> load_file(Api&, Call& call) {
  Result<LoadOrder> order = load_order(call.request);
  if (!order.ok()) co_return error_response(order.error());
  Watch watch(call.reply, call.entry);
  Result<Turn> turn = co_await watch.take_turn();
  if (!turn.ok()) co_return error_response(turn.error());
  Result<CallAnswer> answer =
      co_await call.entry->session->load(order->path, order->name, order->how);
  // Refused by a rule, or by the kernel for its rights; a file that isn't there is no denial.
  int why = answer.ok() ? ENOENT : answer.error().errnum;
  if (why == 0 || why == EACCES || why == EPERM)
    call.entry->deny("load", order->path, answer.error());
  co_return answer_response(answer);
}

Task<http::Response> get_file(Api& api, Call& call) {
  session::FileOrder order = file_order(call, session::FileDeed::kLook);
  Result<session::FileAnswer> found = co_await api.options().files(std::move(order));
  co_return found.ok() ? file_response(std::move(*found)) : error_response(found.error());
}

Task<http::Response> put_file(Api& api, Call& call) {
  session::FileOrder order = file_order(call, session::FileDeed::kWrite);
  size_t size = call.request.body.size();
  order.bytes = std::move(call.request.body);
  Result<session::FileAnswer> written = co_await api.options().files(std::move(order));
  if (!written.ok()) co_return error_response(written.error());
  co_return json_response(json::object{{"written", join(call.words, "/")}, {"bytes", size}}, 201);
}

Task<http::Response> delete_file(Api& api, Call& call) {
  session::FileOrder order = file_order(call, session::FileDeed::kRemove);
  Result<session::FileAnswer> removed = co_await api.options().files(std::move(order));
  if (!removed.ok()) co_return error_response(removed.error());
  co_return json_response(json::object{{"removed", join(call.words, "/")}});
}

}  // namespace caisson::web

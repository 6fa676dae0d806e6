// Sessions themselves: made, listed, shown, ended; checkpoints, branches, snapshots.
#include <fmt/format.h>

#include "web/calls.h"
#include "web/snapshots.h"
#include "web/utf8.h"

namespace caisson::web {
namespace {

namespace json = boost::json;

http::Response session_list(const Sessions& sessions, std::string_view parent, bool all) {
  json::array list;
  for (const auto& [name, entry] : sessions.all())
    if (all || entry->session->info().parent == parent) list.push_back(session_json(*entry));
  return json_response(json::object{{"sessions", std::move(list)}});
}

Result<session::SessionSpec> spec_of(const http::Request& request) {
  return spec_from_json(TRY(parse_object(request.body)));
}

struct NewBranch {
  std::string name, from;
};
Result<NewBranch> branch_of(const http::Request& request) {
  json::object body = TRY(parse_object(request.body));
  return NewBranch{TRY(text_member(body, "name")), TRY(text_member(body, "from"))};
}

Result<std::string> session_name_of(const http::Request& request) {
  return needed_text(TRY(parse_object(request.body)), "name");
}

}  // namespace

Task<http::Response> list_sessions(Api& api, Call&) {
  co_await api.sessions().wait_for({});
  co_return session_list(api.sessions(), {}, true);
}

Task<http::Response> create_session(Api& api, Call& call) {
  Result<session::SessionSpec> spec = spec_of(call.request);
  if (!spec.ok()) co_return error_response(spec.error());
  Result<EntryPtr> made = co_await api.sessions().create(std::move(*spec));
  if (!made.ok()) co_return error_response(made.error());
  co_return json_response(session_json(**made), 201);
}

Task<http::Response> show_session(Api&, Call& call) {
  co_return json_response(session_json(*call.entry));
}

Task<http::Response> end_session(Api& api, Call& call) {
  std::string name = call.entry->spec.name;
  bool save = call.request.parameter("save") == "1";
  Result<std::vector<std::string>> ended = co_await api.sessions().end(name, save);
  if (!ended.ok()) co_return error_response(ended.error());
  ended->pop_back();  // itself
  json::object answer{{"ended", name}, {"saved", save}};
  if (!ended->empty()) answer["branches"] = json::array(ended->begin(), ended->end());
  co_return json_response(std::move(answer));
}

Task<http::Response> session_limits(Api&, Call& call) {
  co_return json_response(limits_json(call.entry->spec));
}

Task<http::Response> session_denials(Api&, Call& call) {
  json::array list;
  for (session::Refusal& one : call.entry->session->take_refusals()) {
    Error said = Error::plain(one.reason.empty() ? one.resource + " was refused" : one.reason,
                              one.how_to_allow);
    call.entry->deny(lossy_utf8(one.rule), lossy_utf8(one.resource), said);
  }
  for (const json::object& denial : call.entry->denials) list.push_back(denial);
  co_return json_response(
      json::object{{"denials", std::move(list)}, {"total", call.entry->denied}});
}

Task<http::Response> interrupt_session(Api&, Call& call) {
  bool running = call.entry->turns->taken();
  call.entry->session->interrupt();
  co_return json_response(json::object{{"interrupted", running}});
}

Task<http::Response> reset_session(Api&, Call& call) {
  Result<Turn> turn = co_await take_turn(call.entry);
  if (!turn.ok()) co_return error_response(turn.error());
  Result<json::object> done = co_await call.entry->session->reset();
  co_return object_response(done);
}

Task<http::Response> list_checkpoints(Api&, Call& call) {
  Result<Turn> turn = co_await take_turn(call.entry);
  if (!turn.ok()) co_return error_response(turn.error());
  Result<json::object> done = co_await call.entry->session->checkpoints();
  co_return object_response(done);
}

Task<http::Response> make_checkpoint(Api&, Call& call) {
  Result<std::string> name = session_name_of(call.request);
  if (!name.ok()) co_return error_response(name.error());
  Result<Turn> turn = co_await take_turn(call.entry);
  if (!turn.ok()) co_return error_response(turn.error());
  Result<json::object> made = co_await call.entry->session->checkpoint(*name);
  co_return object_response(made, 201);
}

Task<http::Response> drop_checkpoint(Api&, Call& call) {
  std::string name = call.words.at(0);
  Result<Turn> turn = co_await take_turn(call.entry);
  if (!turn.ok()) co_return error_response(turn.error());
  Result<json::object> done = co_await call.entry->session->drop(name);
  co_return object_response(done);
}

Task<http::Response> restore_checkpoint(Api&, Call& call) {
  std::string name = call.words.at(0);
  Result<Turn> turn = co_await take_turn(call.entry);
  if (!turn.ok()) co_return error_response(turn.error());
  Result<json::object> done = co_await call.entry->session->restore(name);
  co_return object_response(done);
}

Task<http::Response> list_branches(Api& api, Call& call) {
  co_return session_list(api.sessions(), call.entry->spec.name, false);
}

Task<http::Response> make_branch(Api& api, Call& call) {
  Result<NewBranch> wanted = branch_of(call.request);
  if (!wanted.ok()) co_return error_response(wanted.error());
  Result<Turn> turn = co_await take_turn(call.entry);
  if (!turn.ok()) co_return error_response(turn.error());
  Result<EntryPtr> made =
      co_await api.sessions().branch(call.entry, std::move(wanted->name), std::move(wanted->from));
  if (!made.ok()) co_return error_response(made.error());
  co_return json_response(session_json(**made), 201);
}

Task<http::Response> save_snapshot(Api& api, Call& call) {
  Result<json::object> taken = co_await take_snapshot(api, call.reply, call.entry);
  co_return object_response(taken);
}

Task<http::Response> restore_snapshot(Api& api, Call& call) {
  Result<json::object> back =
      co_await put_snapshot_back(api, call.reply, call.entry, call.request.body);
  co_return object_response(back);
}

}  // namespace caisson::web

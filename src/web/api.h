// The HTTP API: which request goes where, who may ask, and the handlers of each subject.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "http/server.h"
#include "session/file_work.h"
#include "session/offer.h"
#include "session/session_host.h"
#include "web/sessions.h"

namespace caisson::web {

// Through which door a request came. Of the open door only the first API's routes are served.
enum class Door { kOwn, kOpen };

struct ApiOptions {
  std::string token;            // what TCP clients must bring; empty: none of them may come
  std::string state_folder;     // 0700, there already
  session::SessionOffer offer;  // what sessions clients may make
  // Work on the files of workspaces, by a process that may open them.
  std::function<Task<Result<session::FileAnswer>>(session::FileOrder)> files;
};

struct Counters {
  uint64_t answered[6] = {};  // by hundreds of the status
  uint64_t unauthorized = 0;
  uint64_t executions = 0, executions_failed = 0, executions_stopped = 0;
  uint64_t output_bytes = 0;
  double execution_seconds = 0;
};

class Api;
struct Call {
  http::Request& request;
  http::Reply& reply;
  std::vector<std::string> words;  // what the pattern's {…} stand for, and the rest behind "**"
  EntryPtr entry;                  // of {session}
};

// The answer to send; a status of 0 says that the handler has answered itself (a stream).
using Handler = Task<http::Response> (*)(Api&, Call&);

// As a Route's limit: what the session may have, and the body comes as memory to be lent.
inline constexpr uint64_t kMemoryOfSession = UINT64_MAX;

// One row per method and path. The OpenAPI document is made of the same rows.
struct Route {
  std::string_view method, path;  // "/v1/sessions/{session}/files/**"
  Handler handler;
  std::string_view summary;
  std::string_view takes = {};  // the schema of its body; "bytes" for any, "" for none
  std::string_view gives = {};  // the schema of its answer; "bytes", "text" or "events" too
  int status = 200;             // of success
  uint64_t body_limit = http::kDefaultBodyLimit;  // or kMemoryOfSession
  bool may_be_open = false;                       // served at the open door
};
std::span<const Route> routes();

class Api {
 public:
  Api(Loop& loop, session::SessionHost& host, ApiOptions options);

  // The refusal of one who may not ask at all; for other handlers behind the same doors, too.
  std::optional<http::Response> stranger(const http::Request& request, Door door);
  http::Admission admit(const http::Request& request, Door door);
  Task<> handle(http::Request& request, http::Reply& reply);

  Loop& loop() { return loop_; }
  Sessions& sessions() { return sessions_; }
  Counters& counters() { return counters_; }
  const ApiOptions& options() const { return options_; }
  std::chrono::seconds uptime() const;
  // Since when nobody has asked for anything; now, while somebody does.
  http::Clock::time_point last_use() const { return active_ ? http::Clock::now() : last_use_; }
  std::function<http::ServerCounts()> server_counts;  // for the metrics

 private:
  Loop& loop_;
  ApiOptions options_;
  Sessions sessions_;
  Counters counters_;
  http::Clock::time_point started_ = http::Clock::now(), last_use_ = started_;
  size_t active_ = 0;
};

// Handlers, by subject.
Task<http::Response> compat_exec(Api&, Call&);
Task<http::Response> compat_vars(Api&, Call&);
Task<http::Response> compat_var(Api&, Call&);
Task<http::Response> compat_health(Api&, Call&);
Task<http::Response> compat_save(Api&, Call&);
Task<http::Response> compat_restore(Api&, Call&);

Task<http::Response> list_sessions(Api&, Call&);
Task<http::Response> create_session(Api&, Call&);
Task<http::Response> show_session(Api&, Call&);
Task<http::Response> end_session(Api&, Call&);
Task<http::Response> session_limits(Api&, Call&);
Task<http::Response> session_denials(Api&, Call&);
Task<http::Response> interrupt_session(Api&, Call&);
Task<http::Response> reset_session(Api&, Call&);

Task<http::Response> exec_code(Api&, Call&);
Task<http::Response> list_vars(Api&, Call&);
Task<http::Response> get_var(Api&, Call&);
Task<http::Response> set_var(Api&, Call&);
Task<http::Response> evaluate(Api&, Call&);
Task<http::Response> load_file(Api&, Call&);

Task<http::Response> list_checkpoints(Api&, Call&);
Task<http::Response> make_checkpoint(Api&, Call&);
Task<http::Response> drop_checkpoint(Api&, Call&);
Task<http::Response> restore_checkpoint(Api&, Call&);
Task<http::Response> list_branches(Api&, Call&);
Task<http::Response> make_branch(Api&, Call&);
Task<http::Response> save_snapshot(Api&, Call&);
Task<http::Response> restore_snapshot(Api&, Call&);

Task<http::Response> get_file(Api&, Call&);
Task<http::Response> put_file(Api&, Call&);
Task<http::Response> delete_file(Api&, Call&);

Task<http::Response> health(Api&, Call&);
Task<http::Response> metrics(Api&, Call&);
Task<http::Response> openapi(Api&, Call&);

}  // namespace caisson::web

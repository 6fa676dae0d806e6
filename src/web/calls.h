// A call of a session on behalf of a client: in its turn, and stopped when the client leaves.
#pragma once

#include <optional>

#include "web/api.h"
#include "web/encode.h"
#include "web/spec_json.h"

namespace caisson::web {

// Waits for the session's turn. To be called before each of its calls, and held as long as it
// lasts. (GCC 12 destroys what a lambda inside co_await captures twice: nothing here takes one.)
Task<Result<Turn>> take_turn(EntryPtr entry);

// Of a client that may leave: the call of the session that it waits for is stopped then, so that
// code which does not end (a __repr__, a __reduce__) holds the session up no longer than its client
// does.
class Watch {
 public:
  // `running`: set while the session is at this very call, for those who must know.
  Watch(http::Reply& reply, EntryPtr entry, bool* running = nullptr);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  // The session's turn, for one call; an error when the client has left before.
  Task<Result<Turn>> take_turn();

 private:
  http::Reply& reply_;
  EntryPtr entry_;
  bool gone_ = false, unseen_ = false;
  bool& running_;
};

struct ExecOrder {
  std::string code;
  std::optional<std::chrono::milliseconds> timeout;
  bool* running = nullptr;  // set while the session is at this very call
};
// Runs code; a client that leaves stops it. Counts it.
using OnOutput = std::function<void(session::OutputStream, std::string_view)>;
Task<Result<session::CallAnswer>> run_code(Api& api, http::Reply& reply, EntryPtr entry,
                                           ExecOrder order, OnOutput on_output);

// Members of a body. Missing is "" or nullopt; of the wrong type is an error.
Result<std::string> text_member(const boost::json::object& object, std::string_view name);
Result<std::optional<double>> number_member(const boost::json::object& object,
                                            std::string_view name);
Result<std::string> needed_text(const boost::json::object& object, std::string_view name);
// An error when the body has another member: one that is spelled wrong must not be ignored.
Result<void> only_members(const boost::json::object& object,
                          std::initializer_list<std::string_view> known);
// A time limit in units of so many milliseconds, up to the next whole one; nothing when none is
// given.
Result<std::optional<std::chrono::milliseconds>> time_member(const boost::json::object& object,
                                                             std::string_view name, double unit);
// A number of the query.
Result<uint64_t> number_parameter(const http::Request& request, std::string_view name,
                                  uint64_t otherwise, uint64_t most);

http::Response answer_response(const Result<session::CallAnswer>& answer);
http::Response object_response(const Result<boost::json::object>& object, int status = 200);

}  // namespace caisson::web

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
// A number of the query.
Result<uint64_t> number_parameter(const http::Request& request, std::string_view name,
                                  uint64_t otherwise, uint64_t most);

http::Response answer_response(const Result<session::CallAnswer>& answer);
http::Response object_response(const Result<boost::json::object>& object, int status = 200);

}  // namespace caisson::web

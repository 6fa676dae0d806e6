// What sessions say, as the API says it.
#pragma once

#include <string>

#include <boost/json.hpp>

#include "http/message.h"
#include "session/session.h"
#include "web/sessions.h"

namespace caisson::web {

http::Response json_response(const boost::json::value& value, int status = 200);
// The status by the error's errno: ENOENT 404, EEXIST and EBUSY 409, EACCES and EPERM 403, EINVAL
// 400, others 422.
http::Response error_response(const Error& error);

// With or without the output itself: a stream has sent that already.
enum class WithOutput { kYes, kNo };
boost::json::object answer_json(const session::CallAnswer& answer, WithOutput output);
boost::json::object session_json(const Entry& entry);
boost::json::object limits_json(const session::SessionSpec& spec);

// The text of a value or display: its "text/plain".
std::string plain_text(const boost::json::value& bundle);
// stdout with displays and the last value; stderr with the traceback and what was stopped.
std::string compat_output(const session::CallAnswer& answer);
std::string compat_errors(const session::CallAnswer& answer);

// event: NAME / data: {…}
std::string sse_event(std::string_view name, const boost::json::value& data);

}  // namespace caisson::web

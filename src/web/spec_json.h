// A session's specification as JSON: what POST /v1/sessions takes, and what is noted for a restart.
#pragma once

#include <boost/json.hpp>

#include "base/result.h"
#include "session/session.h"

namespace caisson::web {

// Unknown members are refused: a limit that is spelled wrong must not be no limit.
Result<session::SessionSpec> spec_from_json(const boost::json::object& object);
boost::json::object spec_to_json(const session::SessionSpec& spec);

// JSON from a client or a file: bounded in depth, an object.
Result<boost::json::object> parse_object(std::string_view text);

}  // namespace caisson::web

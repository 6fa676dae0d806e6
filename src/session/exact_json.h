// JSON as boost::json::parse reads it, but for numbers that are not whole: that is off by one in
// the last digit for one of ten, and a value of a session would be another one outside.
#pragma once

#include <string_view>

#include <boost/json.hpp>

namespace caisson::session {

// Null, and `failed` says why, for what is no JSON.
boost::json::value parse_exactly(std::string_view text, size_t most_depth,
                                 boost::system::error_code& failed);

}  // namespace caisson::session

// JSON for people and clients: what boost::json::serialize gives, but for numbers that are not
// whole.
#pragma once

#include <string>

#include <boost/json.hpp>

namespace caisson::http {

std::string plain_json(const boost::json::value&);

}  // namespace caisson::http

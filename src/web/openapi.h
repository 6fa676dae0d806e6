// The OpenAPI 3.1 document, made of the same table that requests are routed by.
#pragma once

#include <span>

#include <boost/json.hpp>

#include "web/api.h"

namespace caisson::web {

boost::json::object openapi_document(std::span<const Route> routes);

}  // namespace caisson::web

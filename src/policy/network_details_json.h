// NetworkDetails in the canonical text of a policy, from which its digest is made.
#pragma once

#include <boost/json/object.hpp>

#include "policy/network_policy.h"

namespace caisson {

// Of a proxy's address, which may hold a password, only the digest is told.
boost::json::object network_details_json(const NetworkDetails& details);

}  // namespace caisson

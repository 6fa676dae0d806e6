// An outcome as the JSON object of --json-output, and as an event of the record.
#pragma once

#include <boost/json/object.hpp>

#include "launch/outcome.h"
#include "plan/plan.h"
#include "policy/policy.h"

namespace caisson {

boost::json::object limits_json(const Limits&, const std::vector<Enforcement>&);
boost::json::array degradations_json(const std::vector<Degradation>&);
boost::json::array denials_json(const Outcome&);
boost::json::object usage_json(const Usage&);

// The one line of --json-output. Without a plan (nothing could be planned) its fields are null.
struct ResultView {
  const Outcome& outcome;
  const Plan* plan;
  std::string policy_digest, audit_id;
};
std::string result_text(const ResultView&);
std::string setup_error_text(const Error&, const Plan*, const std::string& policy_digest);

}  // namespace caisson

// What `caisson explain` and `exec --dry-run` print.
#pragma once

#include <string>

#include "cli/job.h"
#include "plan/plan.h"

namespace caisson {

std::string explanation_json(const Job&, const Plan&);

}  // namespace caisson

// What no single key says: keys that need or exclude one another.
#pragma once

#include <vector>

#include "srt/check.h"

namespace caisson::srt {

void check_rules(const Node& root, std::vector<Problem>& problems);

}  // namespace caisson::srt

// Table → classic BPF.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "seccomp/generate/table.h"

namespace caisson {

// The architecture first, then x32, then a binary search over the numbers; a call's arguments are
// looked at only at the end of its own path, so that the kernel can see that the others need none.
std::vector<sock_filter> compile(const Table& table);

}  // namespace caisson

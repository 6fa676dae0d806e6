// Table → classic BPF.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "seccomp/generate/table.h"

namespace caisson {

// The architecture first, then a search over the numbers, of which those with the x32 bit are the
// last; a call's arguments are looked at only at the end of its own path, so that the kernel can
// see that the others need none. As few instructions as we know how to: the kernel checks, converts
// and translates each of them at every start.
std::vector<sock_filter> compile(const Table& table);

}  // namespace caisson

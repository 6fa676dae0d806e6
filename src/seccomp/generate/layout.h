// Graph → classic BPF.
#pragma once

#include <linux/filter.h>

#include "seccomp/generate/graph.h"

namespace caisson {

std::vector<sock_filter> lay_out(const Graph& graph, NodeId root);

}  // namespace caisson

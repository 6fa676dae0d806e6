// Rule → questions about arguments, none of which is asked twice.
#pragma once

#include "seccomp/generate/graph.h"

namespace caisson {

NodeId decide_by_arguments(Graph& graph, const Rule& rule);

}  // namespace caisson

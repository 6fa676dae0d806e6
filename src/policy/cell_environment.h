// The variables that a cell starts with: a short list, the toolchain's own, and what a person
// asked.
#pragma once

#include "policy/mounts.h"
#include "policy/toolchains.h"

namespace caisson {

Result<void> build_environment(const Scene&, const Toolchain&, Policy&);

}  // namespace caisson

#include "filters_arm64.gen.h"
#include "seccomp/filters.h"

namespace caisson {

std::span<const sock_filter> arm64_filter(FilterName name, bool notify_exec) {
  return generated_arm64::kFilters[static_cast<int>(name)][notify_exec];
}

}  // namespace caisson

#include "filters_x86_64.gen.h"
#include "seccomp/filters.h"

namespace caisson {

std::span<const sock_filter> x86_64_filter(FilterName name, bool notify_exec) {
  return generated_x86_64::kFilters[static_cast<int>(name)][notify_exec];
}

}  // namespace caisson

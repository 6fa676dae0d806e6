#include "seccomp/filters.h"

namespace caisson {

std::span<const sock_filter> filter_for(FilterName name, bool notify_exec) {
  if constexpr (kNativeArch == Arch::kX86_64)
    return x86_64_filter(name, notify_exec);
  else
    return arm64_filter(name, notify_exec);
}

}  // namespace caisson

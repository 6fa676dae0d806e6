// The Python side of a session (src/session/py), embedded when the binary was built.
#pragma once

#include <string_view>

extern "C" const char caisson_session_kernel[], caisson_session_kernel_end[];

namespace caisson::session {

inline std::string_view kernel_source() {
  return {caisson_session_kernel,
          static_cast<size_t>(caisson_session_kernel_end - caisson_session_kernel)};
}

}  // namespace caisson::session

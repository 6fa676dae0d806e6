// Writing to a person or a pipe, whole.
#pragma once

#include <string_view>

namespace caisson {

// False when the other side is gone.
bool write_all(int fd, std::string_view text);

}  // namespace caisson

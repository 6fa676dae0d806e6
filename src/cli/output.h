// Writing to a person or a pipe, whole.
#pragma once

#include <string_view>

namespace caisson {

// False when the other side is gone.
bool write_all(int fd, std::string_view text);

// To a person, on stderr. Never waits long for a terminal or pipe that nobody reads.
void talk(std::string_view text);

// To stdout, which is data: 0, or a message on stderr and kOwnError when it can't be written whole.
int print(std::string_view text);
// The same for what a cell has said: on a terminal it is text, and steers nothing (T42).
int print_foreign(std::string_view text);

}  // namespace caisson

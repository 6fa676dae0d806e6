// What a server gives up before it reads its first byte.
#pragma once

#include <string>

#include "base/result.h"

namespace caisson::mcp {

struct Confinement {
  bool files = false;  // by Landlock; a kernel without it holds system calls alone
};

// From here on: no file but those below `state`, no other program, no new process, no socket but
// pairs, no capability. Its launcher is another process, made before this. `state` may be missing:
// then there is no file at all.
Result<Confinement> confine_server(const std::string& state);

}  // namespace caisson::mcp

// What a server gives up before it reads its first byte.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace caisson::mcp {

struct Confinement {
  bool files = false;  // by Landlock; a kernel without it holds system calls alone
};

// From here on: no file but those below `folders`, no other program, no new process, no socket but
// pairs, no capability. Its launcher is another process, made before this. A folder may be missing:
// then there is none. They are the server's own: in what its launcher works on by name it must not
// have the right to rename.
// `listens`: it may accept connections on the sockets that it has.
Result<Confinement> confine_server(const std::vector<std::string>& folders, bool listens = false);

}  // namespace caisson::mcp

// Filesystems of the kernel's own in the host's tree: their files are switches, whoever owns them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace caisson {

struct KernelMount {
  std::string path;
  bool shows_processes = false;  // a procfs
};

// From the text of /proc/self/mountinfo. Without what a cell has of its own (/proc, /dev).
std::vector<KernelMount> kernel_mounts(std::string_view mountinfo);

}  // namespace caisson

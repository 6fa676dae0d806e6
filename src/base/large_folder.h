// A folder that had very many names has all their blocks still, and to read it is to read those, in
// one call of readdir(3): a cell can make one that takes minutes, and then hold whoever lists it.
#pragma once

#include <sys/stat.h>

namespace caisson {

constexpr off_t kLargestFolder = 8 << 20;

inline bool is_too_large_to_list(int folder) {
  struct stat info;
  return ::fstat(folder, &info) != 0 || info.st_size > kLargestFolder;
}

}  // namespace caisson

// Remover: takes away folders that cells have filled. They are as deep, as wide and as locked as
// code inside liked, and its last processes may still write to them: so each step is by descriptor
// and follows no link, the depth is bounded (what lies deeper is moved up), and so is the effort.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace caisson::session {

// What may be spent; to give back a file's blocks takes time as well, and to read a folder's more.
struct Effort {
  size_t entries = SIZE_MAX;
  uint64_t bytes = UINT64_MAX;
};

class Remover {
 public:
  // `trash`: a folder of ours alone; entries of it are removed.
  Remover(int trash, Effort effort) : trash_(trash), left_(effort) {}
  // False: something of it is left, for want of effort or because somebody still writes to it.
  bool remove(const std::string& name) { return remove_at(trash_, name.c_str(), 0); }
  size_t removed() const { return removed_; }

 private:
  bool remove_at(int folder, const char* name, int depth);
  bool remove_inside(int folder, int depth);
  bool move_up(int folder, const char* name);
  bool spend(uint64_t bytes);

  int trash_;
  Effort left_;
  size_t removed_ = 0;
  uint32_t moved_ = 0;
};

// The owner's rights to a folder, whatever mode a cell gave it. Opens it without following a link.
UniqueFd open_for_removal(int at, const char* name);

// All that is in the trash, and what comes in meanwhile. Only one process works at a time. False:
// something could not be removed.
bool empty_trash(int trash);

// `caisson empty-trash`: the same in a process of its own, at the lowest priority. It knows the
// folder by a descriptor.
constexpr int kTrashFd = 3;
int empty_trash_command();

}  // namespace caisson::session

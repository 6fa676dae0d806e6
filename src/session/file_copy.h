// FileCopies: the bytes of files, copied into memory that a session is lent, in slices and within
// the room that there is for all sessions.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/task.h"
#include "session/load_budget.h"
#include "session/slices.h"

namespace caisson::session {

class FileCopies {
 public:
  FileCopies(Slices& slices, LoadBudget::Share& share, uint64_t most)
      : slices_(slices), share_(share), most_(most), left_(most) {}

  bool takes(uint64_t size) const { return size <= left_; }
  // There is none for all sessions together: what comes after has none, either.
  bool is_out_of_room() const { return is_out_of_room_; }
  // `expected`: what the file says of itself. Sets the size that it had.
  Task<Result<UniqueFd>> copy(int from, uint64_t expected, uint64_t& size);

 private:
  Task<Result<void>> have_room(uint64_t bytes);
  Task<Result<UniqueFd>> copy_all(int from, uint64_t& size);

  Slices& slices_;
  LoadBudget::Share& share_;
  uint64_t most_, left_;
  bool is_out_of_room_ = false;
};

}  // namespace caisson::session

// Root's cells: ids that own nothing outside, and mounts through which they own what root owns.
#pragma once

#include <sys/types.h>

#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launch/child_program.h"
#include "plan/plan.h"

namespace caisson {

// A number that owns nothing, another one for every cell.
Result<uint32_t> throwaway_id();

// While it lives this process goes by the number, root being only its saved id: a cell that is
// cloned meanwhile is born with it, and may map it by itself (user_namespaces(7)), without waiting
// for us.
class BorrowedId {
 public:
  static Result<BorrowedId> take(uint32_t id);
  BorrowedId(BorrowedId&& other) noexcept
      : groups_(std::move(other.groups_)),
        death_signal_(other.death_signal_),
        parent_(other.parent_),
        taken_(std::exchange(other.taken_, false)) {}
  BorrowedId& operator=(BorrowedId&&) = delete;
  ~BorrowedId();  // root again, or no more: it ends the process if that fails

 private:
  BorrowedId() = default;
  std::vector<gid_t> groups_;
  int death_signal_ = 0;  // that we asked for ourselves: a change of ids clears it
  pid_t parent_ = 0;
  bool taken_ = false;
};

// A namespace in which root is the number: the cell's own when it is uid 0 there, else one made for
// it.
Result<UniqueFd> mapping_namespace(pid_t cell, const Plan&, uint32_t outside);

// A detached, id-mapped clone of the step's source. The caller's root can reach what the cell
// can't.
Result<UniqueFd> open_mapped_mount(const Step& bind, int user_namespace);

}  // namespace caisson

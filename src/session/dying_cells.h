// DyingCells: the cgroups of forks that were killed. A killed process leaves its cgroup when the
// kernel has taken its memory apart, which takes as long as what it had mapped: seconds, where code
// wants it so. The loop serves others meanwhile, and comes back until the folders are gone.
#pragma once

#include <deque>
#include <memory>

#include "launch/cell_cgroup.h"
#include "launch/cgroup_sweeper.h"
#include "session/event.h"

namespace caisson::session {

class DyingCells : public std::enable_shared_from_this<DyingCells> {
 public:
  // `at_the_end`: how long the process waits for them before it ends.
  explicit DyingCells(Loop& loop,
                      std::chrono::milliseconds at_the_end = std::chrono::milliseconds(2000))
      : loop_(loop), timer_(loop.get_executor()), at_the_end_(at_the_end) {}
  DyingCells(const DyingCells&) = delete;
  DyingCells& operator=(const DyingCells&) = delete;
  // Waits for them, within the bound, and leaves the others to sweepers.
  ~DyingCells();

  // One that was killed.
  void take(CellCgroup, CgroupSweeper);
  size_t count() const { return cells_.size(); }

 private:
  struct Cell {
    CellCgroup cgroup;
    CgroupSweeper sweeper;
  };
  static bool is_gone(Cell&);
  void try_all(SteadyClock::time_point until);
  void look_again();

  Loop& loop_;
  LoopTimer timer_;
  std::chrono::milliseconds at_the_end_, pause_{1};
  std::deque<Cell> cells_;
};

}  // namespace caisson::session

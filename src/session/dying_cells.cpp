#include "session/dying_cells.h"

#include <time.h>

#include <algorithm>

namespace caisson::session {

namespace {

constexpr std::chrono::milliseconds kSoon{1}, kSeldom{250};
constexpr std::chrono::milliseconds kSlice{5};  // of work, before others have their turn
constexpr timespec kNap{0, 2'000'000};

}  // namespace

// Killed again each time: of cgroup v1 members are killed one by one, and one that was being born,
// or that was on its way in, was on no list.
bool DyingCells::is_gone(Cell& cell) {
  if (!cell.cgroup.remove_once()) {
    cell.cgroup.kill_once();
    return false;
  }
  cell.sweeper.dismiss();
  return true;
}

void DyingCells::take(CellCgroup cgroup, CgroupSweeper sweeper) {
  Cell cell{std::move(cgroup), std::move(sweeper)};
  if (is_gone(cell)) return;
  cells_.push_back(std::move(cell));
  pause_ = kSoon;
  if (!loop_.stopped()) look_again();
}

// Each once, as far as the time goes. Those that are still there go to the back.
void DyingCells::try_all(SteadyClock::time_point until) {
  for (size_t i = cells_.size(); i > 0; --i) {
    Cell cell = std::move(cells_.front());
    cells_.pop_front();
    if (!is_gone(cell)) cells_.push_back(std::move(cell));
    if (SteadyClock::now() >= until) return;
  }
}

void DyingCells::look_again() {
  timer_.expires_after(pause_);  // in the place of a look that was to come later
  pause_ = std::min(pause_ * 2, kSeldom);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& failed) {
    std::shared_ptr<DyingCells> self = weak.lock();
    if (!self || failed) return;
    self->try_all(SteadyClock::now() + kSlice);
    if (!self->cells_.empty()) self->look_again();
  });
}

DyingCells::~DyingCells() {
  SteadyClock::time_point end = SteadyClock::now() + at_the_end_;
  while (!cells_.empty() && SteadyClock::now() < end) {
    try_all(end);
    if (!cells_.empty()) ::nanosleep(&kNap, nullptr);
  }
  for (Cell& cell : cells_) {
    cell.cgroup.forget();
    cell.sweeper.leave_behind();
  }
}

}  // namespace caisson::session

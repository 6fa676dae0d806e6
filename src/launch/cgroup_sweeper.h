// A process of a few pages that outlives a supervisor killed by SIGKILL, and then kills what is
// left in the cell's cgroup and removes the folders. It shares the supervisor's memory, so it costs
// one clone(2) and no copy; it waits in one system call.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "plan/plan.h"

namespace caisson {

class CgroupSweeper {
 public:
  // Before CellCgroup::create() of the same name, so that no folder is ever without its sweeper.
  static Result<CgroupSweeper> start(const CgroupPlan& plan, const std::string& name);

  CgroupSweeper(CgroupSweeper&& other) noexcept;
  CgroupSweeper& operator=(CgroupSweeper&& other) noexcept;
  ~CgroupSweeper();  // dismisses and reaps

  // No wait(2) without __WALL sees this child, and no SIGCHLD tells of its end.
  pid_t pid() const { return pid_; }
  // The folders are gone, or will be kept: ends the sweeper without waiting for its end.
  void dismiss();
  // The folders are still there: it outlives this object, and sweeps when this process has ended.
  void leave_behind();

 private:
  struct Work;
  CgroupSweeper(std::unique_ptr<Work> work, pid_t pid);
  static int run(void* work);

  std::unique_ptr<Work> work_;  // the sweeper's stack and orders: kept until it is reaped
  pid_t pid_ = -1;
};

}  // namespace caisson

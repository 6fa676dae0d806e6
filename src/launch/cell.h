// Cell: one running sandbox. Dropping it kills what is inside and takes its cgroup away.
#pragma once

#include <sys/ioctl.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launch/cell_cgroup.h"
#include "launch/cgroup_sweeper.h"
#include "launch/compile.h"
#include "launch/other_core.h"
#include "plan/plan.h"

namespace caisson {

struct LaunchOptions {
  std::string name;            // of the cgroup folders
  char* wipe_start = nullptr;  // caisson's own argv and environment strings
  uint64_t wipe_size = 0;
  uint64_t turn_ns = 0;          // that the program has, where ours were made shorter
  winsize window{};              // of the cell's terminal, if it gets one
  bool inside_cell = false;      // of another caisson, for the hint of a refusal
  bool null_stdin = false;       // /dev/null instead of a pipe
  std::vector<UniqueFd> passed;  // for the program, as 3, 4, …; at most kMostPassed
  UniqueFd gateway;              // where the cell's child hands its sockets to; none: no gateway
  // Called once the cell stands and before any of its code runs: the place for the record. An error
  // ends the cell unrun.
  std::function<Result<void>()> before_go;
};

class Cell {
 public:
  // The only arrow that touches the kernel. All signals are blocked in the caller from here on. The
  // plan must be there for as long as the cell is.
  static Result<Cell> launch(const Plan&, LaunchOptions);

  Cell(Cell&&) noexcept;
  ~Cell();

  int pidfd() const { return pidfd_.get(); }
  int control() const { return control_.get(); }
  UniqueFd& input() { return input_; }
  UniqueFd& output() { return output_; }
  UniqueFd& error_output() { return error_output_; }
  // Where the cell's warden tells what it refused; none without one.
  UniqueFd& reports() { return reports_; }
  const WardenPlan* warden() const { return warden_; }
  CellCgroup* cgroup() { return cgroup_ ? &*cgroup_ : nullptr; }
  const CompiledProgram& compiled() const { return *compiled_; }
  // CLOCK_MONOTONIC ns, for --timing.
  struct Stamps {
    uint64_t begin = 0, cloned = 0, limited = 0, recorded = 0;
  };
  const Stamps& stamps() const { return stamps_; }

  void send_signal(int number) const;  // to pid 1, which passes it on
  void end() const;                    // asks pid 1 to end everything and account for it
  void kill() const;                   // ends everything at once
  // Waits for pid 1, and so for all. Gives rusage of all that ran.
  struct Used {
    double user_ms = 0, system_ms = 0;
    uint64_t max_rss_bytes = 0;
  };
  Used reap();
  void release_cgroup();                           // once all are gone
  bool stays() const { return core_ != nullptr; }  // its supervisor, on the core that it is on
  void settle() { core_.reset(); }                 // this takes longer: it may go where it likes

 private:
  Cell() = default;
  struct Ends;
  static Result<void> make_streams(const Plan&, bool null_stdin, Ends&);
  static Result<Ends> make_ends(const Plan&, LaunchOptions&, ChildDescriptors&);
  void keep(Ends);
  Result<void> begin(const Plan&, uint32_t outside, bool inside_cell);
  Result<std::vector<UniqueFd>> provide(const Plan&, const std::string& name, uint32_t outside);
  bool has_spoken() const;
  Result<void> send_mounts(const Plan&, uint32_t outside);
  Result<void> make_cgroup(const Plan&, const std::string& name,
                           const std::function<Result<void>()>& between = {});
  pid_t pid_ = -1;
  Stamps stamps_;
  UniqueFd pidfd_, control_, input_, output_, error_output_, reports_;
  const WardenPlan* warden_ = nullptr;  // the plan's
  std::unique_ptr<CompiledProgram> compiled_;
  std::optional<CgroupSweeper> sweeper_;  // goes after the cgroup that it watches
  std::optional<CellCgroup> cgroup_;
  bool crowded_ = false;
  std::unique_ptr<OwnCore> core_;
};

}  // namespace caisson

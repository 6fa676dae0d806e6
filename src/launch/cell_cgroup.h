// The cgroup of one cell: its folders in the hierarchies of a CgroupPlan, held by descriptor and
// removed when the object goes.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "plan/plan.h"

namespace caisson {

struct CgroupUsage {
  uint64_t memory_peak_bytes = 0, cpu_ns = 0, oom_kills = 0, pids_refused = 0;
  bool operator==(const CgroupUsage&) const = default;
};
// Adds what the files of one controller tell; 0 stays where the kernel does not count.
void add_cgroup_usage(int folder, CgroupFacts::Version version, std::string_view controller,
                      CgroupUsage& usage);

class CellCgroup {
 public:
  // Makes the folders and writes the limits; undone whole on error. `name` is one path component,
  // `companion` the pid of the sweeper if there is one (it may have to step aside with us). Who is
  // waited for meanwhile is served `between` the dear parts.
  static Result<CellCgroup> create(const CgroupPlan& plan, const std::string& name,
                                   pid_t companion = 0,
                                   const std::function<Result<void>()>& between = {});

  CellCgroup(CellCgroup&&) noexcept = default;
  CellCgroup& operator=(CellCgroup&& other) noexcept;
  ~CellCgroup();  // kills what is still inside

  // Moves a process into every folder. Each move takes a lock of the whole host, which on kernels
  // since 6.0 can wait milliseconds for a grace period; prefer the two ways below.
  Result<void> attach(pid_t pid);
  // v1: descriptors, one per folder, to which a process of one thread writes "0" to move itself.
  // Moving oneself does not take that lock.
  Result<std::vector<UniqueFd>> join_fds() const;
  // v2: for clone3 with CLONE_INTO_CGROUP, which is born in the cell. -1 on v1.
  int clone_into_fd() const;

  // Wakes poll(2) with oom_poll_events() when the cell ran out of memory; -1 when no memory limit.
  int oom_event_fd() const { return oom_event_ ? oom_event_.get() : oom_count_.get(); }
  short oom_poll_events() const;
  // Asks the kernel, and takes note of the event. On v2 other memory events wake too, so ask.
  bool oom_happened();

  CgroupUsage usage() const;
  void kill_all();
  // True when all folders are gone; waits a short while for killed processes to leave.
  bool remove();
  // The same two for a loop that has others to serve. How long a process takes to die is up to what
  // it has mapped: seconds, if it likes. So nothing is waited for, and they may be called again.
  void kill_once();
  bool remove_once();
  // The folders are left to the sweeper.
  void forget() { folders_.clear(); }
  std::vector<std::string> folders() const;

 private:
  struct Folder {
    std::string directory;                 // of the slot
    std::vector<std::string> controllers;  // that it holds
    UniqueFd parent, self;
  };
  CellCgroup(CgroupFacts::Version version, std::string name)
      : version_(version), name_(std::move(name)) {}
  bool is_v2() const { return version_ == CgroupFacts::Version::kV2; }
  Result<void> make_folders(const CgroupPlan& plan, pid_t companion);
  Result<void> write_limits(const CgroupPlan& plan);
  Result<void> watch_memory();
  void stop_watching();
  bool remove_within(unsigned milliseconds);
  Result<void> make_folder(const CgroupPlan& plan, Folder folder, pid_t companion);
  const Folder* folder_of(std::string_view controller) const;

  CgroupFacts::Version version_;
  std::string name_, leaf_;
  std::vector<Folder> folders_;
  UniqueFd oom_event_;  // v1: an eventfd
  UniqueFd oom_count_;  // v1: memory.oom_control; v2: memory.events
  bool oom_seen_ = false;
};

}  // namespace caisson

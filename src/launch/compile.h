// compile(): Plan → ChildProgram, with the storage that its pointers point into.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "launch/child_program.h"
#include "launch/compile_warden.h"
#include "plan/plan.h"

namespace caisson {

// Descriptors of the child's side, all above 2.
struct ChildDescriptors {
  int control;
  int stdio[3];  // -1: the terminal of the cell's own
  winsize window{};
  bool crowded = false;     // cores_are_taken()
  uint64_t turn_ns = 0;     // see StepKind::kTurns; 0: nothing was changed
  uint32_t outside_id = 0;  // for Plan::throwaway_ids
  int gateway = -1;         // to the cell's gateway, if it has one
  int report = -1;          // the warden's, if it has one
  std::vector<int> passed;  // for the program; these and `control` lie above kMostPassed + 2
};

class CompiledProgram {
 public:
  const ChildProgram& program() const { return program_; }
  uint64_t clone_flags() const { return clone_flags_; }
  // What a failed step was about, for the error message: {"mount /usr", …}.
  std::string describe_step(uint32_t index) const;
  bool is_exec_step(uint32_t index) const;
  // The mounts that the supervisor opens, id-maps and sends, in this order (root only).
  const std::vector<Step>& mapped_mounts() const { return mapped_mounts_; }

 private:
  friend class Compiler;
  ChildProgram program_{};
  uint64_t clone_flags_ = 0;
  std::deque<std::string> strings_;
  std::vector<Step> init_steps_, enter_steps_, mapped_mounts_, mask_steps_;
  std::vector<ChildLandlockRule> rules_;
  CompiledWarden warden_;
  std::vector<PageRange> clean_pages_;
  std::vector<uint16_t> forward_;
  std::vector<const char*> candidates_, argv_, shell_argv_, environment_;
};

// `wipe` is the memory of caisson's own argv and environment strings, zeroed inside the cell.
std::unique_ptr<CompiledProgram> compile(const Plan&, const ChildDescriptors&, char* wipe_start,
                                         uint64_t wipe_size);

}  // namespace caisson

// What exec and explain have in common: from words to a policy, facts and a plan.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cli.h"
#include "plan/plan.h"
#include "policy/caller.h"
#include "policy/policy.h"
#include "policy/settings.h"

namespace caisson {

// What stands at a target of the policy's, by a descriptor of the caller's: a source's path may
// have come to lead elsewhere since he looked.
struct KnownMount {
  std::string target;
  uint64_t device = 0, inode = 0;
};

// Flags that are not settings of the policy.
struct ExecFlags {
  std::string policy_file;
  // srt's settings instead, and the folder that relative paths in them start at.
  std::string settings_file, settings_folder;
  bool json_output = false, dry_run = false, timing = false, help = false;
  int verbosity = 0;
  int control_fd = -1, denials_fd = -1;  // of the caller's: new rules in, denials out
  std::vector<int> pass_fds;             // of the caller's, for the program
  std::vector<KnownMount> mounts;        // that the policy's must be
  bool survive_oom = false;              // a session has its own way back
  int parent = 0;                        // its end is ours, at once; 0: nobody's
};

struct Job {
  ExecFlags flags;
  Caller caller;
  Command command;
  Policy policy;
  HostFacts facts;
};

// File, then variables, then flags: each wins over the one before.
Result<ExecFlags> read_flags(std::span<const std::string> args, Settings&, Command&);
// Of --policy.
Result<std::string> read_policy_file(const std::string& path);
// kOnly: nothing on the host is changed, not even a folder made that exec would make.
enum class Look { kAndMake, kOnly };
// No cell sees the record of what ran.
void keep_record_out(const Caller&, Look, Settings&);
Result<Job> make_job(std::span<const std::string> args, const ProcessStart&, Look);

// The page of `caisson exec --help`, from the table of settings.
std::string exec_help();

}  // namespace caisson

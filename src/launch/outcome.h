// How an execution ended. One verdict; the first wins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caisson {

enum class Status { kOk, kExited, kSignalled, kTimeout, kOom, kLimit, kSetupError, kInternalError };
const char* status_name(Status status);

// Something the program asked for and did not get.
struct Denial {
  std::string rule, resource, how_to_allow;
  uint64_t count = 1;  // how often, where that is known
};

struct Usage {
  double cpu_ms = 0, user_ms = 0, system_ms = 0;
  uint64_t max_rss_bytes = 0;      // of the largest process
  uint64_t memory_peak_bytes = 0;  // of the cell, where a cgroup counts it; else 0
  uint64_t oom_kills = 0, pids_refused = 0;
  uint64_t stdout_bytes = 0, stderr_bytes = 0;                         // as the program wrote them
  uint64_t stdout_cut = 0, stderr_cut = 0;                             // beyond the output limit
  uint64_t connections = 0, uploaded_bytes = 0, downloaded_bytes = 0;  // through the gateway
};

// Milliseconds since the start of caisson, by phase, for --timing.
struct Phase {
  std::string name;
  double milliseconds;
};

constexpr const char* kLostOutputHint =
    "what the program printed is not all there: make room where it goes, and run it again";

struct Outcome {
  Status status = Status::kInternalError;
  std::string reason;  // one line for a person
  std::string hint;    // what to do, when that is known
  int exit_code = 125;
  double duration_ms = 0;
  Usage usage;
  bool unsteered = false;  // the kernel has no nftables: only the proxies lead to the gateway
  std::vector<Denial> denials;
  uint64_t denials_cut = 0;         // different ones that are not in the list
  bool denials_lost_count = false;  // there were more of them than could be counted
  // "stdout could not be written: …": what the program printed is not all where it should be.
  std::string output_lost;
  std::string captured_stdout, captured_stderr;
  std::vector<Phase> phases;
};

// What a wait status of the program means; puts the reason, and a hint, into the outcome.
Status explain_end(int wait_status, Outcome&);

}  // namespace caisson

// A short-lived child that tries system calls out, in new namespaces if need be. What it does ends
// with it; it reports one errno per step through shared memory.
#pragma once

#include <errno.h>
#include <stdint.h>

#include <chrono>
#include <functional>
#include <string>

#include "host/deep_facts.h"

namespace caisson {

class TrialSteps {
 public:
  static constexpr size_t kMost = 16;
  explicit TrialSteps(volatile int* errnums) : errnums_(errnums) {}

  // Does the call and notes how it went. The call returns -errno when it failed, as it does.
  template <typename Call>
  long take(size_t step, Call call) {
    errnums_[step] = EINTR;  // what stays when the child is killed for it
    long result = call();
    errnums_[step] = result < 0 ? static_cast<int>(-result) : 0;
    return result;
  }

 private:
  volatile int* errnums_;
};

struct Trial {
  int birth = Attempt::kNotTried;  // the errno of the clone
  int steps[TrialSteps::kMost];    // Attempt::kNotTried: not reached

  bool born() const { return birth == 0; }
  Attempt birth_attempt(std::string step) const { return {birth, std::move(step)}; }
  Attempt attempt(size_t index, std::string step) const { return {steps[index], std::move(step)}; }
};

// Runs `body` in a child with these new namespaces (CLONE_NEW…). A child that hangs is killed: its
// pending step reads ETIMEDOUT. One that a seccomp filter kills reads ENOSYS.
Trial run_trial(uint64_t namespaces, const std::function<void(TrialSteps)>& body,
                std::chrono::milliseconds deadline = std::chrono::seconds(2));

// fork(2) by clone(2), which no container's filter refuses, and without libc's handlers.
long plain_fork();

// The id maps of a new user namespace, written from inside as a cell does it: our own ids alone.
// Takes three steps, from `first` on; true when all worked.
constexpr size_t kMapSteps = 3;
bool write_id_maps(TrialSteps, size_t first, uid_t, gid_t);
const char* map_step_name(size_t index);

// Each fills its part of the facts.
void try_user_namespace(DeepFacts&);
void try_namespaces(DeepFacts&);
void try_mounts(DeepFacts&);
void try_process_calls(DeepFacts&);
void try_seccomp(DeepFacts&);
void try_landlock(DeepFacts&);

}  // namespace caisson

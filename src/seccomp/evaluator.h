// Runs a seccomp program in user space, as the kernel would: for tests, which ask it about every
// system call on both architectures.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <span>

namespace caisson {

// The answer for a program that the kernel would refuse or that runs off its end. It is no seccomp
// action, so it can't be taken for a verdict.
constexpr uint32_t kMalformed = 0x0bad0000;

struct Evaluation {
  uint32_t verdict = kMalformed;  // SECCOMP_RET_… with its data
  unsigned steps = 0;             // instructions executed
  // False: decided by number and architecture alone. Linux ≥ 5.11 then remembers an "allow" in a
  // bitmap and doesn't run the filter for that call again.
  bool read_arguments = false;
};

Evaluation evaluate_fully(std::span<const sock_filter> program, const seccomp_data& data);

inline uint32_t evaluate(std::span<const sock_filter> program, const seccomp_data& data) {
  return evaluate_fully(program, data).verdict;
}

}  // namespace caisson

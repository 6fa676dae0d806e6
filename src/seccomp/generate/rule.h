// What a filter says about one system call: a verdict, or a few questions about its arguments.
#pragma once

#include <linux/seccomp.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace caisson {

// A SECCOMP_RET_… action with its data.
using Verdict = uint32_t;
constexpr Verdict kAllow = SECCOMP_RET_ALLOW;
constexpr Verdict kKill = SECCOMP_RET_KILL_PROCESS;
constexpr Verdict kAsk = SECCOMP_RET_USER_NOTIF;
constexpr Verdict fail(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }

// The registers are 64 bits wide, but most arguments are 32-bit types: the kernel drops the upper
// half, so a test must do so as well, or a caller passes it by setting a bit that nobody reads
// (T41).
enum class Half { kLow, kHigh };

// One question: is (argument & mask) one of `values`? Or, without values: is any bit of it set?
struct ArgumentTest {
  unsigned argument = 0;
  uint32_t mask = ~0u;
  std::vector<uint32_t> values;
  Half half = Half::kLow;
  bool operator==(const ArgumentTest&) const = default;
};

inline ArgumentTest is_one_of(unsigned argument, std::vector<uint32_t> values) {
  return {.argument = argument, .values = std::move(values)};
}
inline ArgumentTest masked_is_one_of(unsigned argument, uint32_t mask,
                                     std::vector<uint32_t> values) {
  return {.argument = argument, .mask = mask, .values = std::move(values)};
}
inline ArgumentTest has_any_bit(unsigned argument, uint32_t mask) {
  return {.argument = argument, .mask = mask};
}
inline ArgumentTest upper_half_is_zero(unsigned argument) {
  return {.argument = argument, .values = {0}, .half = Half::kHigh};
}

// `then` when every test holds.
struct Case {
  std::vector<ArgumentTest> tests;
  Verdict then = kKill;
  bool operator==(const Case&) const = default;
};

// The first case that holds decides.
struct Rule {
  std::vector<Case> cases;
  Verdict otherwise = kKill;
  bool operator==(const Rule&) const = default;
};

inline Rule always(Verdict verdict) { return {{}, verdict}; }

// System calls that share a rule. `calls` are names, parted by spaces.
struct Group {
  std::string_view name;
  Rule rule;
  std::string_view calls;
};

}  // namespace caisson

// What is good to know and not needed by the default policy.
#include <errno.h>

#include <fmt/format.h>

#include "base/error.h"
#include "host/checks.h"

namespace caisson {

namespace {

Check overlay(const DeepFacts& facts) {
  constexpr const char* kName = "overlay";
  if (facts.overlay.worked())
    return {kName, CheckStatus::kInfo, "can be mounted in a user namespace"};
  if (!facts.overlay.failed()) return {kName, CheckStatus::kInfo, "not tried"};
  return {
      kName, CheckStatus::kInfo,
      fmt::format("can't be mounted in a user namespace: {}", errno_text(facts.overlay.errnum))};
}

Check kvm(const DeepFacts& facts) {
  constexpr const char* kName = "kvm";
  if (facts.kvm.worked()) return {kName, CheckStatus::kInfo, "/dev/kvm can be opened"};
  if (facts.kvm.errnum == ENOENT) return {kName, CheckStatus::kInfo, "there is no /dev/kvm"};
  return {kName, CheckStatus::kInfo,
          fmt::format("/dev/kvm can't be opened: {}", errno_text(facts.kvm.errnum))};
}

// core(5): RLIMIT_CORE is not asked for dumps into a pipe.
Check core_dumps(const DeepFacts& facts) {
  constexpr const char* kName = "core dumps";
  if (!facts.core_pattern.starts_with('|'))
    return {kName, CheckStatus::kInfo, "kernel.core_pattern is a file: cells leave none"};
  std::string handler = facts.core_pattern.substr(1, facts.core_pattern.find(' ') - 1);
  return {kName,
          CheckStatus::kInfo,
          fmt::format("kernel.core_pattern is a pipe to {}", handler),
          "a crash in a cell starts that program on the host, whatever RLIMIT_CORE says (core(5))",
          {"# if nobody here reads core dumps:", "sudo sysctl -w kernel.core_pattern=core"}};
}

Check ptrace(const DeepFacts& facts) {
  constexpr const char* kName = "ptrace scope";
  if (!facts.ptrace_scope)
    return {kName, CheckStatus::kInfo, "this kernel has no Yama; a cell's filter refuses ptrace"};
  return {kName, CheckStatus::kInfo,
          fmt::format("kernel.yama.ptrace_scope is {}; a cell's filter refuses ptrace",
                      *facts.ptrace_scope)};
}

}  // namespace

void check_extras(const DeepFacts& facts, Checks& checks) {
  checks.push_back(overlay(facts));
  checks.push_back(kvm(facts));
  checks.push_back(core_dumps(facts));
  checks.push_back(ptrace(facts));
}

}  // namespace caisson

// Asks a filter about one call by name. For tests.
#pragma once

#include <gtest/gtest.h>
#include <seccomp.h>

#include <optional>

#include "seccomp/evaluator.h"
#include "seccomp/filters.h"
#include "seccomp/generate/oracle.h"

namespace caisson {

constexpr uint64_t kUnread = 0xdeadbeef00000000;  // upper bits that the kernel drops

class SeccompClaims : public testing::TestWithParam<Arch> {
 protected:
  // A call that this architecture lacks (open, fork … on arm64) answers nullopt.
  std::optional<Verdict> ask(FilterName name, const char* call, Arguments arguments = {},
                             bool notify_exec = false) {
    uint32_t token = GetParam() == Arch::kX86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
    int number = seccomp_syscall_resolve_name_arch(token, call);
    EXPECT_NE(number, __NR_SCMP_ERROR) << call;
    if (number < 0) return {};
    auto program = GetParam() == Arch::kX86_64 ? x86_64_filter(name, notify_exec)
                                               : arm64_filter(name, notify_exec);
    return evaluate(program, call_data(GetParam(), static_cast<uint32_t>(number), arguments));
  }

  void expect(FilterName name, Verdict verdict, const char* call, Arguments arguments = {}) {
    auto answer = ask(name, call, arguments);
    if (!answer) return;
    EXPECT_EQ(*answer, verdict) << call << " (" << std::hex << arguments[0] << ", " << arguments[1]
                                << ", " << arguments[2] << ") filter " << static_cast<int>(name);
  }
  void standard(Verdict verdict, const char* call, Arguments arguments = {}) {
    expect(FilterName::kStandard, verdict, call, arguments);
  }
  void both_for_programs(Verdict verdict, const char* call, Arguments arguments = {}) {
    standard(verdict, call, arguments);
    expect(FilterName::kNoSockets, verdict, call, arguments);
  }
};

inline std::string arch_label(const testing::TestParamInfo<Arch>& info) {
  return info.param == Arch::kX86_64 ? "x86_64" : "arm64";
}

}  // namespace caisson

// libseccomp compiles the same list, and both programs must say the same. It sees only the rules
// without arguments, and only the calls that it knows by name.
#include <errno.h>
#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "base/unique_fd.h"
#include "seccomp/evaluator.h"
#include "seccomp/filters.h"
#include "seccomp/generate/oracle.h"

namespace caisson {
namespace {

using Context = std::unique_ptr<void, decltype(&seccomp_release)>;

uint32_t token_of(Arch arch) {
  return arch == Arch::kX86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
}

// libseccomp takes the numbers of the machine that it runs on, and translates them.
std::optional<int> number_here(Arch arch, uint32_t number) {
  std::unique_ptr<char, decltype(&::free)> name(
      seccomp_syscall_resolve_num_arch(token_of(arch), static_cast<int>(number)), &::free);
  if (!name) return {};
  int here = seccomp_syscall_resolve_name(name.get());
  return here == __NR_SCMP_ERROR ? std::nullopt : std::optional(here);
}

// Whether libseccomp can be asked about this call at all.
bool comparable(const Table& table, uint32_t number) {
  auto rule = table.rules.find(number);
  if (rule == table.rules.end()) return true;
  return rule->second.cases.empty() && number_here(table.arch, number);
}

Context build(const Table& table) {
  Context context(seccomp_init(table.unlisted), &seccomp_release);
  EXPECT_TRUE(context);
  EXPECT_EQ(seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), 0);
  if (table.arch != kNativeArch) {
    EXPECT_EQ(seccomp_arch_remove(context.get(), SCMP_ARCH_NATIVE), 0);
    EXPECT_EQ(seccomp_arch_add(context.get(), token_of(table.arch)), 0);
  }
  for (const auto& [number, rule] : table.rules) {
    // It refuses a rule that says what the default says.
    if (!comparable(table, number) || rule.otherwise == table.unlisted) continue;
    EXPECT_EQ(seccomp_rule_add(context.get(), rule.otherwise, *number_here(table.arch, number), 0),
              0)
        << number;
  }
  return context;
}

std::vector<sock_filter> exported(const Context& context) {
  UniqueFd fd(::memfd_create("filter", MFD_CLOEXEC));
  EXPECT_EQ(seccomp_export_bpf(context.get(), fd.get()), 0);
  off_t size = ::lseek(fd.get(), 0, SEEK_END);
  std::vector<sock_filter> program(static_cast<size_t>(size) / sizeof(sock_filter));
  EXPECT_EQ(::pread(fd.get(), program.data(), static_cast<size_t>(size), 0), size);
  return program;
}

TEST(SeccompSecondOpinion, LibseccompAgreesOnEveryCallWithoutArguments) {
  for (Arch arch : kArchs) {
    for (FilterName name : kFilterNames) {
      Result<Table> table = make_table(arch, name, false);
      ASSERT_TRUE(table.ok());
      std::vector<sock_filter> theirs = exported(build(*table));
      auto ours = arch == Arch::kX86_64 ? x86_64_filter(name, false) : arm64_filter(name, false);
      int compared = 0;
      for (uint32_t number = 0; number <= 600; ++number) {
        if (!comparable(*table, number)) continue;
        seccomp_data data = call_data(arch, number);
        ASSERT_EQ(evaluate(theirs, data), evaluate(ours, data))
            << "call " << number << " filter " << static_cast<int>(name);
        ++compared;
      }
      EXPECT_GT(compared, 550);
      seccomp_data foreign = call_data(arch, 0);
      foreign.arch = SCMP_ARCH_X86;
      EXPECT_EQ(evaluate(theirs, foreign), evaluate(ours, foreign));
      EXPECT_EQ(evaluate(theirs, call_data(arch, kX32Bit)),
                arch == Arch::kX86_64 ? kKill : table->unlisted);
    }
  }
}

}  // namespace
}  // namespace caisson

// The arrays that are built in, the table they come from, and what they may cost.
#include "seccomp/filters.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <seccomp.h>

#include <cstddef>
#include <cstring>

#include "seccomp/evaluator.h"
#include "seccomp/generate/compile.h"
#include "seccomp/generate/oracle.h"

namespace caisson {
namespace {

std::span<const sock_filter> built_in(Arch arch, FilterName name, bool notify_exec) {
  return arch == Arch::kX86_64 ? x86_64_filter(name, notify_exec) : arm64_filter(name, notify_exec);
}

Table table_of(Arch arch, FilterName name, bool notify_exec) {
  Result<Table> table = make_table(arch, name, notify_exec);
  EXPECT_TRUE(table.ok()) << (table.ok() ? "" : table.error().what);
  return table.ok() ? *table : Table{};
}

// Calls check(arch, name, notify_exec) for every filter there is.
template <typename Check>
void for_every_filter(Check check) {
  for (Arch arch : kArchs)
    for (FilterName name : kFilterNames)
      for (bool notify_exec : {false, true}) {
        SCOPED_TRACE(testing::Message() << "arch " << static_cast<int>(arch) << " filter "
                                        << static_cast<int>(name) << " notify " << notify_exec);
        check(arch, name, notify_exec);
      }
}

std::vector<uint32_t> telling_numbers() {
  std::vector<uint32_t> numbers;
  for (uint32_t number = 0; number <= 600; ++number) numbers.push_back(number);
  for (uint32_t huge : {1023u, 4096u, 65535u, 0x3fffffffu, 0x40000000u, 0x40000001u, 0x40000027u,
                        0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu})
    numbers.push_back(huge);
  return numbers;
}

TEST(SeccompFilters, EveryCallIsDecidedAsTheTableSays) {
  for_every_filter([](Arch arch, FilterName name, bool notify_exec) {
    Table table = table_of(arch, name, notify_exec);
    auto program = built_in(arch, name, notify_exec);
    for (uint32_t number : telling_numbers()) {
      auto rule = table.rules.find(number);
      for (const Arguments& arguments :
           telling_arguments(rule == table.rules.end() ? Rule{} : rule->second)) {
        seccomp_data data = call_data(arch, number, arguments);
        ASSERT_EQ(evaluate(program, data), decide(table, data))
            << "call " << number << std::hex << " (" << arguments[0] << ", " << arguments[1] << ", "
            << arguments[2] << ")";
      }
    }
  });
}

TEST(SeccompFilters, ArgumentsThatARuleDoesNotNameDoNotMatter) {
  for_every_filter([](Arch arch, FilterName name, bool notify_exec) {
    Table table = table_of(arch, name, notify_exec);
    auto program = built_in(arch, name, notify_exec);
    for (uint32_t number = 0; number <= 600; ++number) {
      auto rule = table.rules.find(number);
      if (rule != table.rules.end() && !rule->second.cases.empty()) continue;
      seccomp_data zeros = call_data(arch, number);
      seccomp_data ones = call_data(arch, number, {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull});
      ASSERT_EQ(evaluate(program, zeros), evaluate(program, ones)) << "call " << number;
    }
  });
}

TEST(SeccompFilters, TheArraysAreWhatTheTableCompilesTo) {
  for_every_filter([](Arch arch, FilterName name, bool notify_exec) {
    auto program = built_in(arch, name, notify_exec);
    std::vector<sock_filter> fresh = compile(table_of(arch, name, notify_exec));
    ASSERT_EQ(program.size(), fresh.size());
    EXPECT_EQ(std::memcmp(program.data(), fresh.data(), program.size_bytes()), 0);
  });
}

TEST(SeccompFilters, TheNativeArrayIsTheOneThatIsInstalled) {
  for (FilterName name : kFilterNames)
    for (bool notify_exec : {false, true})
      EXPECT_EQ(filter_for(name, notify_exec).data(),
                built_in(kNativeArch, name, notify_exec).data());
}

// T37: the same numbers mean other calls there, socketcall(2) among them.
TEST(SeccompFilters, ForeignEntriesAreKilledWhateverTheNumber) {
  constexpr uint32_t kForeign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_PPC64LE, 0, ~0u};
  for_every_filter([&](Arch arch, FilterName name, bool notify_exec) {
    auto program = built_in(arch, name, notify_exec);
    for (uint32_t number : telling_numbers()) {
      seccomp_data data = call_data(arch, number);
      for (uint32_t foreign : kForeign) {
        data.arch = foreign;
        ASSERT_EQ(evaluate(program, data), kKill) << "call " << number;
      }
      data.arch = audit_arch(arch == Arch::kX86_64 ? Arch::kArm64 : Arch::kX86_64);
      ASSERT_EQ(evaluate(program, data), kKill) << "call " << number;
    }
  });
}

TEST(SeccompFilters, NotifyChangesExecAndNothingElse) {
  for (Arch arch : kArchs) {
    uint32_t token = arch == Arch::kX86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
    int execve = seccomp_syscall_resolve_name_arch(token, "execve");
    int execveat = seccomp_syscall_resolve_name_arch(token, "execveat");
    for (FilterName name : {FilterName::kStandard, FilterName::kNested, FilterName::kNoSockets}) {
      for (int number = 0; number <= 600; ++number) {
        seccomp_data data = call_data(arch, number);
        bool is_exec = number == execve || number == execveat;
        Verdict plain = evaluate(built_in(arch, name, false), data);
        ASSERT_EQ(evaluate(built_in(arch, name, true), data), is_exec ? kAsk : plain) << number;
      }
    }
  }
}

TEST(SeccompFilters, AreSmallAndSearchFast) {
  for_every_filter([](Arch arch, FilterName name, bool notify_exec) {
    auto program = built_in(arch, name, notify_exec);
    // Each instruction costs a start a quarter to a third of a microsecond (docs/decisions/0002).
    // Those that ask are for views of the host, which cost more.
    bool asks = name == FilterName::kNames || name == FilterName::kNamesAndRemovals ||
                name == FilterName::kNamesAndReads;
    EXPECT_LT(program.size(), name == FilterName::kInit ? 25u : asks ? 240u : 215u);
    unsigned most = 0;
    for (uint32_t number = 0; number <= 600; ++number) {
      Evaluation one = evaluate_fully(program, call_data(arch, number));
      if (!one.read_arguments) most = std::max(most, one.steps);
    }
    // Architecture, number and verdict: four; the rest is the search.
    EXPECT_LE(most, 4u + 10u);
  });
}

// What the kernel does with a new filter for each of its numbers (seccomp_is_const_allow): it
// follows these instructions, and gives up at any other.
bool kernel_finds_allowed(std::span<const sock_filter> program, const seccomp_data& data) {
  uint32_t word = 0;
  for (size_t at = 0; at < program.size(); ++at) {
    const sock_filter& op = program[at];
    auto jump = [&](bool condition) { at += condition ? op.jt : op.jf; };
    if (op.code == (BPF_LD | BPF_W | BPF_ABS) && op.k == offsetof(seccomp_data, nr))
      word = static_cast<uint32_t>(data.nr);
    else if (op.code == (BPF_LD | BPF_W | BPF_ABS) && op.k == offsetof(seccomp_data, arch))
      word = data.arch;
    else if (op.code == (BPF_JMP | BPF_JA))
      at += op.k;
    else if (op.code == (BPF_JMP | BPF_JEQ | BPF_K))
      jump(word == op.k);
    else if (op.code == (BPF_JMP | BPF_JGE | BPF_K))
      jump(word >= op.k);
    else
      return op.code == (BPF_RET | BPF_K) && op.k == kAllow;
  }
  return false;
}

TEST(SeccompFilters, EveryCallThatIsAlwaysAllowedIsFoundToBeByTheKernel) {
  for_every_filter([](Arch arch, FilterName name, bool notify_exec) {
    Table table = table_of(arch, name, notify_exec);
    for (const auto& [number, rule] : table.rules)
      EXPECT_EQ(kernel_finds_allowed(built_in(arch, name, notify_exec), call_data(arch, number)),
                rule == always(kAllow))
          << "call " << number;
  });
}

// Linux ≥ 5.11 answers such a call from a bitmap, without running the filter. Not among them are
// openat (the mode of a new file must be looked at), mmap (huge pages) and fcntl (leases): 35 ns
// each, of 280 for F_GETFD and some 4000 for a page that is mapped and given back.
constexpr const char* kHotCalls[] = {
    "read",        "write",         "close",      "pread64",        "newfstatat",   "fstat",
    "lseek",       "munmap",        "mprotect",   "madvise",        "brk",          "futex",
    "epoll_pwait", "ppoll",         "recvfrom",   "sendto",         "recvmsg",      "sendmsg",
    "getpid",      "clock_gettime", "getdents64", "rt_sigprocmask", "rt_sigaction", "sched_yield",
    "readlinkat",  "wait4"};

TEST(SeccompFilters, HotCallsAreDecidedByTheirNumberAlone) {
  for (Arch arch : kArchs) {
    uint32_t token = arch == Arch::kX86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
    for (FilterName name : {FilterName::kStandard, FilterName::kNested, FilterName::kNoSockets}) {
      for (const char* hot : kHotCalls) {
        int number = seccomp_syscall_resolve_name_arch(token, hot);
        Evaluation one = evaluate_fully(built_in(arch, name, false), call_data(arch, number));
        EXPECT_EQ(one.verdict, kAllow) << hot;
        EXPECT_FALSE(one.read_arguments) << hot;
      }
    }
  }
}

}  // namespace
}  // namespace caisson

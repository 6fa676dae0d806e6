// The kernel runs the filters and must answer what the evaluator says. Each call is made in a
// process of its own, without privileges, with arguments that can do no harm.
#include <errno.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "seccomp/evaluator.h"
#include "seccomp/filters.h"
#include "seccomp/generate/oracle.h"

namespace caisson {
namespace {

// Added to every errno of a filter, so that its answers can't be mistaken for the kernel's own.
// The kernel hands out errno values up to 4095 as they are.
constexpr uint32_t kMark = 3500;

std::vector<sock_filter> marked(std::span<const sock_filter> program) {
  std::vector<sock_filter> out(program.begin(), program.end());
  for (sock_filter& op : out)
    if (op.code == (BPF_RET | BPF_K) && (op.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
      op.k += kMark;
  return out;
}

// Not syscall(3): the child of vfork returns from it and overwrites the return address that its
// parent still needs.
[[gnu::always_inline]] inline long raw_call(long number, const Arguments& a) {
#if defined(__x86_64__)
  long result;
  register uint64_t r10 asm("r10") = a[3];
  register uint64_t r8 asm("r8") = a[4];
  register uint64_t r9 asm("r9") = a[5];
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#else
  register uint64_t x8 asm("x8") = static_cast<uint64_t>(number);
  register uint64_t x0 asm("x0") = a[0];
  register uint64_t x1 asm("x1") = a[1];
  register uint64_t x2 asm("x2") = a[2];
  register uint64_t x3 asm("x3") = a[3];
  register uint64_t x4 asm("x4") = a[4];
  register uint64_t x5 asm("x5") = a[5];
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return static_cast<long>(x0);
#endif
}

void do_nothing(int) {}

// A timer that fires again and again: a call that waits comes back with EINTR.
bool wake_often() {
  struct sigaction action = {};
  action.sa_handler = do_nothing;
  itimerval often = {{0, 20000}, {0, 20000}};
  return ::sigaction(SIGALRM, &action, nullptr) == 0 &&
         ::setitimer(ITIMER_REAL, &often, nullptr) == 0;
}

// The sanitizers' handlers would report what is expected here.
void restore_signals() {
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) ::signal(signal, SIG_DFL);
}

bool drop_privileges() {
  constexpr unsigned kNobody = 65534;
  rlimit none = {0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0) return false;
  if (::geteuid() != 0) return true;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
         ::setresuid(kNobody, kNobody, kNobody) == 0;
}

bool install(std::span<const sock_filter> program) {
  sock_fprog fprog = {static_cast<unsigned short>(program.size()),
                      const_cast<sock_filter*>(program.data())};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog) == 0;
}

// What a process under a filter left behind.
struct Outcome {
  bool confined = false;  // the filter was installed
  bool returned = false;  // the call came back
  long result = 0;
  int signal = 0;  // that ended the process
};

using Body = std::function<void(Outcome&)>;

struct Experiment {
  std::span<const sock_filter> program;
  const Body& body;
  Outcome& outcome;
};

int confined(void* argument) {
  auto* experiment = static_cast<Experiment*>(argument);
  if (wake_often() && install(experiment->program)) {
    experiment->outcome.confined = true;
    experiment->body(experiment->outcome);
  }
  raw_call(SYS_exit_group, {});
  return 0;
}

// Children share the memory of this process, which makes hundreds of them cheap.
void run_experiments(std::span<const sock_filter> program, const std::vector<Body>& bodies,
                     Outcome* outcomes) {
  for (size_t i = 0; i < bodies.size(); ++i) {
    std::vector<char> stack(
        1 << 16);  // a new one: what dies on it leaves marks of AddressSanitizer
    Experiment experiment{program, bodies[i], outcomes[i]};
    int status = 0;
    int flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
    pid_t child = ::clone(confined, stack.data() + stack.size(), flags, &experiment);
    if (child < 0 || ::waitpid(child, &status, 0) != child) ::_exit(1);
    if (WIFSIGNALED(status)) outcomes[i].signal = WTERMSIG(status);
  }
}

// Runs each body under the filter, in a process that ends right after it.
std::vector<Outcome> under(std::span<const sock_filter> program, const std::vector<Body>& bodies) {
  size_t size = bodies.size() * sizeof(Outcome);
  void* shared = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* outcomes = static_cast<Outcome*>(shared);  // zeros are an Outcome
  pid_t laboratory = ::fork();
  if (laboratory == 0) {
    restore_signals();
    if (!drop_privileges()) ::_exit(1);
    run_experiments(program, bodies, outcomes);
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(laboratory, &status, 0), laboratory);
  EXPECT_EQ(status, 0);
  std::vector<Outcome> results(outcomes, outcomes + bodies.size());
  ::munmap(shared, size);
  for (const Outcome& one : results) EXPECT_TRUE(one.confined);
  return results;
}

Body call_body(uint32_t number, const Arguments& with) {
  return [number, with](Outcome& outcome) {
    outcome.result = raw_call(static_cast<long>(number), with);
    outcome.returned = true;
  };
}

Outcome call_under(std::span<const sock_filter> program, uint32_t number, const Arguments& with) {
  return under(program, {call_body(number, with)})[0];
}

bool is_marked(long result) { return result <= -static_cast<long>(kMark) && result >= -4095; }

void expect_agreement(Verdict verdict, const Outcome& outcome) {
  if (verdict == kKill) {
    EXPECT_EQ(outcome.signal, SIGSYS);
  } else if (verdict == kAllow) {
    // Some end the process (exit, rt_sigreturn, uretprobe); none may by the filter's hand.
    EXPECT_NE(outcome.signal, SIGSYS);
    EXPECT_FALSE(outcome.returned && is_marked(outcome.result)) << outcome.result;
  } else if (verdict == kAsk) {  // and nobody listens
    EXPECT_TRUE(outcome.returned);
    EXPECT_EQ(outcome.result, -ENOSYS);
  } else {
    EXPECT_TRUE(outcome.returned);
    EXPECT_EQ(outcome.result, -static_cast<long>(verdict & SECCOMP_RET_DATA));
  }
}

class SeccompKernel : public testing::TestWithParam<FilterName> {};

std::string filter_label(const testing::TestParamInfo<FilterName>& info) {
  constexpr const char* kLabels[] = {"Standard", "Nested", "NoSockets",        "Init",
                                     "Gateway",  "Names",  "NamesAndRemovals", "NamesAndReads",
                                     "Warden",   "Server", "HttpServer"};
  return kLabels[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Under, SeccompKernel, testing::ValuesIn(kFilterNames), filter_label);

// Linux ≥ 6.14 takes uretprobe and uprobe of x86-64 past every filter.
bool passes_filters(uint32_t number) {
  return kNativeArch == Arch::kX86_64 && (number == 335 || number == 336);
}

TEST_P(SeccompKernel, AnswersEveryNumberAsTheEvaluatorDoes) {
  // No such file, process, key or address; kill(-1, 0) only asks.
  const Arguments harmless = {~0ull, 0, 0, 0, 0, 0};
  std::vector<sock_filter> program = marked(filter_for(GetParam(), false));
  std::vector<Body> bodies;
  for (uint32_t number = 0; number <= 475; ++number) bodies.push_back(call_body(number, harmless));
  std::vector<Outcome> outcomes = under(program, bodies);
  for (uint32_t number = 0; number < outcomes.size(); ++number) {
    SCOPED_TRACE(number);
    if (passes_filters(number)) continue;
    expect_agreement(evaluate(program, call_data(kNativeArch, number, harmless)), outcomes[number]);
  }
}

TEST_P(SeccompKernel, RefusesTheSameArgumentsAsTheEvaluator) {
  std::vector<sock_filter> program = marked(filter_for(GetParam(), false));
  Result<Table> table = make_table(kNativeArch, GetParam(), false);
  ASSERT_TRUE(table.ok());
  for (const auto& [number, rule] : table->rules) {
    if (rule.cases.empty()) continue;
    SCOPED_TRACE(number);
    std::vector<std::pair<Arguments, long>> refused;
    for (const Arguments& with : telling_arguments(rule)) {
      Verdict verdict = evaluate(program, call_data(kNativeArch, number, with));
      long answer = verdict == kAsk ? -ENOSYS : -static_cast<long>(verdict & 0xffff);
      if (verdict != kAllow) refused.push_back({with, answer});
    }
    ASSERT_FALSE(refused.empty());
    Body count_agreements = [&refused, call = number](Outcome& outcome) {
      for (const auto& [with, answer] : refused)
        outcome.result += raw_call(static_cast<long>(call), with) == answer;
      outcome.returned = true;
    };
    EXPECT_EQ(under(program, {count_agreements})[0].result, static_cast<long>(refused.size()));
  }
}

TEST(SeccompKernelExec, FailsClosedWhenNobodyListens) {
  Outcome outcome = call_under(filter_for(FilterName::kStandard, true), SYS_execve, {});
  EXPECT_TRUE(outcome.returned);
  EXPECT_EQ(outcome.result, -ENOSYS);
  EXPECT_EQ(call_under(filter_for(FilterName::kStandard, false), SYS_execve, {}).result, -EFAULT);
}

#if defined(__x86_64__)
// getpid by its number of the 32-bit table.
long compat_getpid() {
  long result = 20;
  asm volatile("int $0x80" : "+a"(result) : : "memory");
  return result;
}

// T37
TEST(SeccompKernelEntry, Int80IsKilled) {
  Body body = [](Outcome& outcome) {
    outcome.result = compat_getpid();
    outcome.returned = true;
  };
  const sock_filter everything[] = {BPF_STMT(BPF_RET | BPF_K, kAllow)};
  Outcome control = under(everything, {body})[0];
  // A kernel without 32-bit emulation ends the process by itself.
  ASSERT_TRUE(control.returned ? control.result > 0 : control.signal == SIGSEGV);
  for (FilterName name : kFilterNames) {
    Outcome outcome = under(filter_for(name, false), {body})[0];
    EXPECT_FALSE(outcome.returned);
    EXPECT_EQ(outcome.signal, control.returned ? SIGSYS : SIGSEGV);
  }
}

TEST(SeccompKernelEntry, X32IsKilled) {
  for (FilterName name : kFilterNames) {
    Outcome outcome = call_under(filter_for(name, false), kX32Bit | SYS_getpid, {});
    EXPECT_FALSE(outcome.returned);
    EXPECT_EQ(outcome.signal, SIGSYS);
    EXPECT_GT(call_under(filter_for(name, false), SYS_getpid, {}).result, 0);  // the control
  }
}
#endif

}  // namespace
}  // namespace caisson

#include "seccomp/evaluator.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace caisson {
namespace {

constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr uint16_t kReturn = BPF_RET | BPF_K;

seccomp_data sample() {
  seccomp_data data{};
  data.nr = 7;
  data.arch = 0xc000003e;
  data.args[0] = 0x1111111122222222;
  return data;
}

uint32_t run(std::vector<sock_filter> program) { return evaluate(program, sample()); }

TEST(SeccompEvaluator, ReadsEachFieldWhereTheKernelPutsIt) {
  auto field = [](uint32_t offset) {
    return run({BPF_STMT(kLoad, offset), BPF_STMT(BPF_RET | BPF_A, 0)});
  };
  EXPECT_EQ(field(offsetof(seccomp_data, nr)), 7u);
  EXPECT_EQ(field(offsetof(seccomp_data, arch)), 0xc000003eu);
  EXPECT_EQ(field(offsetof(seccomp_data, args)), 0x22222222u);
  EXPECT_EQ(field(offsetof(seccomp_data, args) + 4), 0x11111111u);
}

TEST(SeccompEvaluator, TakesTheBranchThatTheConditionNames) {
  auto branch = [](uint16_t condition, uint32_t value) {
    return run({BPF_STMT(kLoad, 0),
                BPF_JUMP(static_cast<uint16_t>(BPF_JMP | condition | BPF_K), value, 0, 1),
                BPF_STMT(kReturn, 1), BPF_STMT(kReturn, 0)});
  };
  EXPECT_EQ(branch(BPF_JEQ, 7), 1u);
  EXPECT_EQ(branch(BPF_JEQ, 8), 0u);
  EXPECT_EQ(branch(BPF_JGE, 7), 1u);
  EXPECT_EQ(branch(BPF_JGE, 8), 0u);
  EXPECT_EQ(branch(BPF_JGT, 6), 1u);
  EXPECT_EQ(branch(BPF_JGT, 7), 0u);
  EXPECT_EQ(branch(BPF_JSET, 4), 1u);
  EXPECT_EQ(branch(BPF_JSET, 8), 0u);
}

TEST(SeccompEvaluator, CalculatesAndKeepsWords) {
  EXPECT_EQ(
      run({BPF_STMT(BPF_LD | BPF_IMM, 12), BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LDX | BPF_MEM, 3),
           BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 4), BPF_STMT(BPF_ALU | BPF_OR | BPF_X, 0),
           BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf8), BPF_STMT(BPF_RET | BPF_A, 0)}),
      ((12u << 4) | 12u) & 0xf8u);
}

TEST(SeccompEvaluator, CallsAMalformedProgramMalformed) {
  EXPECT_EQ(run({}), kMalformed);
  EXPECT_EQ(run({BPF_STMT(kLoad, 0)}), kMalformed) << "runs off its end";
  EXPECT_EQ(run({BPF_STMT(kLoad, 2), BPF_STMT(kReturn, 0)}), kMalformed) << "unaligned";
  EXPECT_EQ(run({BPF_STMT(kLoad, sizeof(seccomp_data)), BPF_STMT(kReturn, 0)}), kMalformed);
  EXPECT_EQ(run({BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), BPF_STMT(kReturn, 0)}), kMalformed);
  EXPECT_EQ(run({BPF_STMT(BPF_JMP | BPF_JA, 1), BPF_STMT(kReturn, 0)}), kMalformed);
  EXPECT_EQ(run({BPF_STMT(BPF_JMP | BPF_JA, ~0u), BPF_STMT(kReturn, 0)}), kMalformed);
  EXPECT_EQ(run({BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 9, 0), BPF_STMT(kReturn, 0)}), kMalformed)
      << "the branch taken goes too far";
  EXPECT_EQ(run({BPF_STMT(BPF_LD | BPF_MEM, 1), BPF_STMT(kReturn, 0)}), kMalformed)
      << "never written";
  EXPECT_EQ(run({BPF_STMT(BPF_ST, BPF_MEMWORDS), BPF_STMT(kReturn, 0)}), kMalformed);
  EXPECT_EQ(run({BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), BPF_STMT(kReturn, 0)}), kMalformed);
  EXPECT_EQ(run({BPF_STMT(0xffff, 0), BPF_STMT(kReturn, 0)}), kMalformed);
  std::vector<sock_filter> too_long(BPF_MAXINSNS + 1, BPF_STMT(kReturn, 0));
  EXPECT_EQ(run(too_long), kMalformed);
}

TEST(SeccompEvaluator, TellsWhatARunCost) {
  std::vector<sock_filter> by_number = {BPF_STMT(kLoad, 0), BPF_STMT(kLoad, 4),
                                        BPF_STMT(kReturn, 0)};
  Evaluation cheap = evaluate_fully(by_number, sample());
  EXPECT_EQ(cheap.steps, 3u);
  EXPECT_FALSE(cheap.read_arguments);
  std::vector<sock_filter> by_argument = {BPF_STMT(kLoad, 16), BPF_STMT(kReturn, 0)};
  EXPECT_TRUE(evaluate_fully(by_argument, sample()).read_arguments);
}

}  // namespace
}  // namespace caisson

// The compiler, with tables that no filter of ours has: what it must get right whatever the rules.
#include "seccomp/generate/compile.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "seccomp/evaluator.h"
#include "seccomp/generate/oracle.h"

namespace caisson {
namespace {

// Every number near the table, with every telling argument of its rule.
void expect_as_the_table_says(const Table& table, uint32_t last) {
  std::vector<sock_filter> program = compile(table);
  for (uint32_t number = 0; number <= last; ++number) {
    auto rule = table.rules.find(number);
    for (const Arguments& arguments :
         telling_arguments(rule == table.rules.end() ? Rule{} : rule->second)) {
      seccomp_data data = call_data(table.arch, number, arguments);
      ASSERT_EQ(evaluate(program, data), decide(table, data))
          << "call " << number << std::hex << " (" << arguments[0] << ", " << arguments[1] << ", "
          << arguments[2] << ")";
    }
  }
}

class Rules {
 public:
  explicit Rules(unsigned seed) : random_(seed) {}

  // Few words, masks and values, so that the tests of a rule have to do with each other.
  Rule rule() {
    Rule rule = always(verdict());
    for (unsigned count = below(5); count > 0; --count) {
      Case one{{}, verdict()};
      for (unsigned tests = below(4); tests > 0; --tests) one.tests.push_back(test());
      rule.cases.push_back(one);
    }
    return rule;
  }

  unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }

 private:
  Verdict verdict() {
    constexpr Verdict kVerdicts[] = {kAllow, kAsk, kKill, fail(EPERM), fail(ENOSYS)};
    return kVerdicts[below(std::size(kVerdicts))];
  }

  ArgumentTest test() {
    constexpr uint32_t kMasks[] = {~0u, ~0u, ~0u, ~0xfu, ~0u << 31, 0xf, 0xf0, 0x3, 1u << 31, 0};
    constexpr uint32_t kValues[] = {0, 1, 2, 3, 0xf, 0x10, 0x30, 1u << 31, ~0u, ~0xfu};
    ArgumentTest test{.argument = below(2), .mask = kMasks[below(std::size(kMasks))], .values = {}};
    test.half = below(4) == 0 ? Half::kHigh : Half::kLow;
    for (unsigned count = below(4); count > 0; --count)
      test.values.push_back(kValues[below(std::size(kValues))]);
    return test;
  }

  std::mt19937 random_;
};

TEST(SeccompCompile, RulesOfAllKindsMeanWhatTheyMeanInTheTable) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Rules rules(seed);
    Table table{kArchs[seed % 2], seed % 3 == 0 ? kAllow : fail(ENOSYS), {}};
    for (uint32_t number = 0; number < 8; ++number)
      if (rules.below(4) != 0) table.rules[number] = rules.rule();
    expect_as_the_table_says(table, 10);
  }
}

// Many rules of their own, and one that calls all over the table share.
Table long_table(Arch arch) {
  Table table{arch, fail(ENOSYS), {}};
  for (uint32_t number = 0; number < 300; number += 5) {
    table.rules[number] = always(kAllow);
    std::vector<uint32_t> values;
    for (uint32_t i = 0; i < 10; ++i) values.push_back(10 * number + 3 * i);
    table.rules[number + 1] = {{{{is_one_of(0, values)}, kAsk}}, fail(EPERM)};
    table.rules[number + 3] = {
        {{{has_any_bit(0, 1), has_any_bit(1, 1)}, fail(EACCES)}, {{is_one_of(2, {1})}, kAsk}},
        kAllow};
  }
  return table;
}

// The offset of a conditional jump is one byte. To what is farther away there is a jump of its own,
// and a verdict is said again.
TEST(SeccompCompile, FarAnswersAreReached) {
  for (Arch arch : kArchs) {
    Table table = long_table(arch);
    std::vector<sock_filter> program = compile(table);
    EXPECT_GT(std::ranges::count(program, kAllow, &sock_filter::k), 1);
    EXPECT_TRUE(std::ranges::any_of(program, [](const sock_filter& op) {
      return op.code == (BPF_JMP | BPF_JA) && op.k > 255;
    }));
    expect_as_the_table_says(table, 400);
  }
}

TEST(SeccompCompile, WhatTwoCallsHaveInCommonIsThereOnce) {
  auto size_with = [](unsigned argument) {
    Rule mode = {{{{masked_is_one_of(0, 0xf000, {0x1000, 0x8000})}, kAllow}}, fail(EPERM)};
    Rule other = mode;
    other.cases[0].tests[0].argument = argument;
    return compile({Arch::kArm64, fail(ENOSYS), {{1, mode}, {9, other}}}).size();
  };
  EXPECT_EQ(size_with(1), size_with(0) + 2) << "its own load, and a jump";
}

TEST(SeccompCompile, ATableOfOneAnswerAsksForTheEntryAlone) {
  EXPECT_EQ(compile({Arch::kArm64, kAllow, {{7, always(kAllow)}}}).size(), 4u);
  EXPECT_EQ(compile({Arch::kX86_64, kAllow, {}}).size(), 6u) << "and for x32";
}

}  // namespace
}  // namespace caisson

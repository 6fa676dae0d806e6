// The table read directly, without BPF in between; and the arguments that tell its rules apart.
// For tests.
#pragma once

#include <linux/seccomp.h>

#include <array>
#include <set>
#include <vector>

#include "seccomp/generate/table.h"

namespace caisson {

using Arguments = std::array<uint64_t, 6>;

inline bool holds(const ArgumentTest& test, const Arguments& arguments) {
  uint64_t argument = arguments[test.argument];
  uint64_t half = test.half == Half::kHigh ? argument >> 32 : argument & 0xffffffff;
  if (test.values.empty()) return (half & test.mask) != 0;
  for (uint64_t value : test.values)
    if ((half & test.mask) == value) return true;
  return false;
}

inline Verdict decide(const Rule& rule, const Arguments& arguments) {
  for (const Case& one : rule.cases) {
    bool all = true;
    for (const ArgumentTest& test : one.tests) all = all && holds(test, arguments);
    if (all) return one.then;
  }
  return rule.otherwise;
}

inline Verdict decide(const Table& table, const seccomp_data& data) {
  if (data.arch != audit_arch(table.arch)) return kKill;
  uint32_t number = static_cast<uint32_t>(data.nr);
  if (table.arch == Arch::kX86_64 && number >= kX32Bit) return kKill;
  auto rule = table.rules.find(number);
  if (rule == table.rules.end()) return table.unlisted;
  Arguments arguments;
  for (size_t i = 0; i < arguments.size(); ++i) arguments[i] = data.args[i];
  return decide(rule->second, arguments);
}

// For each argument that the rule looks at: the values it knows, their neighbours, each bit of a
// mask, and all of these with something in the bits that must not matter.
inline std::set<uint64_t> telling_values(const Rule& rule, unsigned argument) {
  std::set<uint64_t> values = {0};
  for (const Case& one : rule.cases) {
    for (const ArgumentTest& test : one.tests) {
      if (test.argument != argument) continue;
      std::vector<uint32_t> known = test.values;
      for (uint32_t bit = 1; test.values.empty() && bit; bit <<= 1)
        if (test.mask & bit) known.push_back(bit);
      for (uint64_t value : known)
        values.insert({value, value ^ 1, value + 1, value | 1ull << 32, value | 1ull << 63,
                       value | (~test.mask & 0xffffffff)});
    }
  }
  if (values.size() > 1) values.insert(~0ull);
  return values;
}

// Every combination of them.
inline std::vector<Arguments> telling_arguments(const Rule& rule) {
  std::vector<Arguments> all = {Arguments{}};
  for (unsigned argument = 0; argument < 6; ++argument) {
    std::vector<Arguments> longer;
    for (uint64_t value : telling_values(rule, argument)) {
      for (Arguments arguments : all) {
        arguments[argument] = value;
        longer.push_back(arguments);
      }
    }
    all = std::move(longer);
  }
  return all;
}

inline seccomp_data call_data(Arch arch, uint32_t number, const Arguments& arguments = {}) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = audit_arch(arch);
  for (size_t i = 0; i < arguments.size(); ++i) data.args[i] = arguments[i];
  return data;
}

constexpr Arch kArchs[] = {Arch::kX86_64, Arch::kArm64};
constexpr FilterName kFilterNames[] = {FilterName::kStandard,         FilterName::kNested,
                                       FilterName::kNoSockets,        FilterName::kInit,
                                       FilterName::kGateway,          FilterName::kNames,
                                       FilterName::kNamesAndRemovals, FilterName::kNamesAndReads,
                                       FilterName::kWarden,           FilterName::kServer,
                                       FilterName::kHttpServer};

}  // namespace caisson

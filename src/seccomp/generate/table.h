// The groups of one filter with their numbers on one architecture.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "seccomp/filters.h"
#include "seccomp/generate/rule.h"

namespace caisson {

struct Table {
  Arch arch = Arch::kX86_64;
  Verdict unlisted = kKill;
  std::map<uint32_t, Rule> rules;  // by number; calls that this architecture lacks are left out
};

// An error for a name that nobody knows: a typo would otherwise be a hole or a broken program.
Result<Table> make_table(Arch arch, FilterName filter, bool notify_exec);

uint32_t audit_arch(Arch arch);

// x86-64 takes the numbers of the x32 ABI through the same entry, with this bit set (T37).
constexpr uint32_t kX32Bit = 0x40000000;

}  // namespace caisson

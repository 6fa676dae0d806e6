#include "seccomp/generate/compile.h"

#include <cstddef>
#include <span>

namespace caisson {

namespace {

using Code = std::vector<sock_filter>;

constexpr unsigned kFarthestJump = 255;  // the offset of a conditional jump is one byte

Code operator+(Code left, const Code& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

sock_filter load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}

sock_filter jump(uint16_t condition, uint32_t value, size_t if_true, size_t if_false) {
  return BPF_JUMP(static_cast<uint16_t>(BPF_JMP | condition | BPF_K), value,
                  static_cast<uint8_t>(if_true), static_cast<uint8_t>(if_false));
}

Code give(Verdict verdict) { return {BPF_STMT(BPF_RET | BPF_K, verdict)}; }

// Both architectures are little-endian: the lower half of an argument comes first.
size_t offset_of(const ArgumentTest& test) {
  return offsetof(seccomp_data, args) + test.argument * sizeof(uint64_t) +
         (test.half == Half::kHigh ? sizeof(uint32_t) : 0);
}

// Where `code` gives that answer already, near enough for a conditional jump; its size: nowhere.
size_t place_of(const sock_filter& answer, const Code& code) {
  for (size_t i = 0; i < code.size() && i <= kFarthestJump; ++i)
    if (code[i].code == (BPF_RET | BPF_K) && code[i].k == answer.k) return i;
  return code.size();
}

// Goes on `hit` instructions later when the test holds, else `miss`.
Code test_argument(const ArgumentTest& test, size_t hit, size_t miss) {
  Code code = {load(offset_of(test))};
  if (test.values.empty()) return code + Code{jump(BPF_JSET, test.mask, hit, miss)};
  if (test.mask != ~0u) code.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, test.mask));
  for (size_t left = test.values.size(); left > 0; --left) {
    uint32_t value = test.values[test.values.size() - left];
    code.push_back(jump(BPF_JEQ, value, left - 1 + hit, left == 1 ? miss : 0));
  }
  return code;
}

// The last test leads to the answer, those before it to the next test; what does not hold goes on
// with `rest`. An answer that `rest` has is not said again.
Code decide_case(const Case& one, const Code& rest) {
  Code body = give(one.then);
  size_t hit = 0;
  if (size_t place = place_of(body[0], rest); place < rest.size() && !one.tests.empty())
    body.clear(), hit = place;
  for (size_t i = one.tests.size(); i-- > 0; hit = 0)
    body = test_argument(one.tests[i], hit, body.size()) + body;
  return body + rest;
}

// Whether the word that `after` begins with is still in the accumulator when `before` has not held.
bool leaves_word(const Case& before, const Case& after) {
  if (before.tests.size() != 1 || after.tests.empty()) return false;
  const ArgumentTest& test = before.tests[0];
  bool is_whole = test.values.empty() || test.mask == ~0u;
  return is_whole && offset_of(test) == offset_of(after.tests[0]);
}

Code decide_by_arguments(const Rule& rule) {
  Code code = give(rule.otherwise);
  for (size_t i = rule.cases.size(); i-- > 0;) {
    code = decide_case(rule.cases[i], code);
    if (i > 0 && leaves_word(rule.cases[i - 1], rule.cases[i])) code.erase(code.begin());
  }
  return code;
}

// The numbers from `first` up to the next range have this rule.
struct Range {
  uint32_t first;
  Rule rule;
};

std::vector<Range> ranges_of(const Table& table) {
  std::vector<Range> ranges;
  auto add = [&](uint32_t first, const Rule& rule) {
    if (ranges.empty() || ranges.back().rule != rule) ranges.push_back({first, rule});
  };
  uint32_t next = 0;
  for (const auto& [number, rule] : table.rules) {
    if (number != next) add(next, always(table.unlisted));
    add(number, rule);
    next = number + 1;
  }
  add(next, always(table.unlisted));
  return ranges;
}

bool is_answer(const Code& code) { return code.size() == 1 && code[0].code == (BPF_RET | BPF_K); }

// One answer for half of the numbers: said once, where the other half says it too. A shorter filter
// is translated faster, and that is a part of every start.
Code search(std::span<const Range> ranges) {
  if (ranges.size() == 1) return decide_by_arguments(ranges[0].rule);
  size_t middle = ranges.size() / 2;
  Code lower = search(ranges.first(middle)), upper = search(ranges.subspan(middle));
  uint32_t border = ranges[middle].first;
  if (is_answer(lower))
    if (size_t place = place_of(lower[0], upper); place < upper.size())
      return Code{jump(BPF_JGE, border, 0, place)} + upper;
  if (is_answer(upper))
    if (size_t place = place_of(upper[0], lower); place < lower.size())
      return Code{jump(BPF_JGE, border, place, 0)} + lower;
  if (lower.size() <= kFarthestJump)
    return Code{jump(BPF_JGE, border, lower.size(), 0)} + lower + upper;
  sock_filter far = BPF_STMT(BPF_JMP | BPF_JA, static_cast<uint32_t>(lower.size()));
  return Code{jump(BPF_JGE, border, 0, 1), far} + lower + upper;
}

}  // namespace

std::vector<sock_filter> compile(const Table& table) {
  Code code = {load(offsetof(seccomp_data, arch)), jump(BPF_JEQ, audit_arch(table.arch), 1, 0)};
  code = code + give(kKill) + Code{load(offsetof(seccomp_data, nr))};
  if (table.arch == Arch::kX86_64) code = code + Code{jump(BPF_JGE, kX32Bit, 0, 1)} + give(kKill);
  return code + search(ranges_of(table));
}

}  // namespace caisson

#include "seccomp/generate/decide.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

#include "seccomp/generate/search.h"

namespace caisson {

namespace {

// Nobody knows which values are likely: those of each piece alike.
constexpr unsigned kPieceWeight = kInstruction / 10;

// Both architectures are little-endian: the lower half of an argument comes first.
uint32_t offset_of(const ArgumentTest& test) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + test.argument * sizeof(uint64_t) +
                               (test.half == Half::kHigh ? sizeof(uint32_t) : 0));
}

// A mask of upper bits alone: what the test asks for are ranges of the word.
bool is_of_ranges(const ArgumentTest& test) { return (~test.mask & (~test.mask + 1)) == 0; }

bool holds_for(const ArgumentTest& test, uint32_t value) {
  if (test.values.empty()) return (value & test.mask) != 0;
  return std::ranges::find(test.values, value & test.mask) != test.values.end();
}

// Where the answer of a test of ranges may change.
void add_borders(const ArgumentTest& test, std::set<uint32_t>& borders) {
  uint32_t length = ~test.mask + 1;
  if (test.values.empty()) borders.insert(length);
  for (uint32_t value : test.values) borders.insert({value, value + length});
}

using Selection = std::function<bool(const ArgumentTest&)>;

std::vector<ArgumentTest> selected(const Rule& rule, const Selection& is_selected) {
  std::vector<ArgumentTest> out;
  for (const Case& one : rule.cases)
    std::ranges::copy_if(one.tests, std::back_inserter(out), is_selected);
  return out;
}

// What an answer tells about a test; nothing: the test is as open as before.
using Knowledge = std::function<std::optional<bool>(const ArgumentTest&)>;

// The case without the tests that are known to hold; nothing: one is known not to.
std::optional<Case> remainder(const Case& one, const Knowledge& known) {
  Case left{{}, one.then};
  for (const ArgumentTest& test : one.tests) {
    std::optional<bool> answer = known(test);
    if (answer == false) return {};
    if (!answer) left.tests.push_back(test);
  }
  return left;
}

// What is left to decide.
Rule remainder(const Rule& rule, const Knowledge& known) {
  Rule left = always(rule.otherwise);
  for (const Case& one : rule.cases) {
    std::optional<Case> open = remainder(one, known);
    if (!open) continue;
    if (open->tests.empty()) {
      left.otherwise = open->then;
      break;
    }
    left.cases.push_back(*open);
  }
  while (!left.cases.empty() && left.cases.back().then == left.otherwise) left.cases.pop_back();
  return left;
}

// Asks about the word of the first test, and decides what each answer leaves.
class Decider {
 public:
  explicit Decider(Graph& graph) : graph_(graph) {}

  NodeId decide(const Rule& rule) {
    if (rule.cases.empty()) return graph_.give(rule.otherwise);
    const ArgumentTest& first = rule.cases.front().tests.front();
    std::vector<ArgumentTest> of_ranges = selected(rule, [&](const ArgumentTest& test) {
      return offset_of(test) == offset_of(first) && is_of_ranges(test);
    });
    if (!of_ranges.empty()) return decide_by_ranges(rule, of_ranges);
    return first.values.empty() ? decide_by_bits(rule, first) : decide_by_values(rule, first);
  }

 private:
  // One value alone tells about all tests of its word, a longer range only about those of ranges.
  NodeId decide_by_ranges(const Rule& rule, const std::vector<ArgumentTest>& of_ranges) {
    uint32_t offset = offset_of(of_ranges.front());
    std::set<uint32_t> borders = {0};
    for (const ArgumentTest& test : of_ranges) add_borders(test, borders);
    std::vector<Piece> pieces;
    for (auto border = borders.begin(); border != borders.end(); ++border) {
      auto next = std::next(border);
      bool is_one_value = (next == borders.end() ? 0 : *next) == *border + 1;
      Knowledge known = [&](const ArgumentTest& test) -> std::optional<bool> {
        if (offset_of(test) != offset || !(is_one_value || is_of_ranges(test))) return {};
        return holds_for(test, *border);
      };
      pieces.push_back({*border, decide(remainder(rule, known)), kPieceWeight});
    }
    return search(graph_, {offset}, pieces);
  }

  // Values under one mask.
  NodeId decide_by_values(const Rule& rule, const ArgumentTest& first) {
    Selection is_alike = [&](const ArgumentTest& test) {
      return offset_of(test) == offset_of(first) && test.mask == first.mask && !test.values.empty();
    };
    std::set<uint32_t> borders = {0};
    for (const ArgumentTest& test : selected(rule, is_alike))
      for (uint32_t value : test.values) borders.insert({value, value + 1});
    std::vector<Piece> pieces;
    for (uint32_t border : borders) {
      Knowledge known = [&](const ArgumentTest& test) -> std::optional<bool> {
        if (!is_alike(test)) return {};
        return std::ranges::find(test.values, border) != test.values.end();
      };
      pieces.push_back({border, decide(remainder(rule, known)), kPieceWeight});
    }
    return search(graph_, {offset_of(first), first.mask}, pieces);
  }

  // A bit that is set is one of more bits too; where none is, there is none of fewer.
  NodeId decide_by_bits(const Rule& rule, const ArgumentTest& first) {
    auto known = [&](bool is_set) -> Knowledge {
      return [&, is_set](const ArgumentTest& test) -> std::optional<bool> {
        if (offset_of(test) != offset_of(first) || !test.values.empty()) return {};
        if (is_set && (first.mask & ~test.mask) == 0) return true;
        if (!is_set && (test.mask & ~first.mask) == 0) return false;
        return {};
      };
    };
    Word word = {offset_of(first)};
    NodeId yes = graph_.from(word, decide(remainder(rule, known(true))));
    NodeId no = graph_.from(word, decide(remainder(rule, known(false))));
    return graph_.with(word, graph_.ask(BPF_JSET, first.mask, yes, no));
  }

  Graph& graph_;
};

}  // namespace

NodeId decide_by_arguments(Graph& graph, const Rule& rule) {
  Knowledge nothing = [](const ArgumentTest&) { return std::nullopt; };
  return Decider(graph).decide(remainder(rule, nothing));
}

}  // namespace caisson

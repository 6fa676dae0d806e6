#include "seccomp/generate/compile.h"

#include <algorithm>
#include <cstddef>

#include "seccomp/generate/decide.h"
#include "seccomp/generate/layout.h"
#include "seccomp/generate/search.h"

namespace caisson {

namespace {

constexpr Word kArch = {offsetof(seccomp_data, arch)}, kNumber = {offsetof(seccomp_data, nr)};

// Linux ≥ 5.11 asks a new filter about each number that it has (6.18: 470).
constexpr uint32_t kNumbersOfKernel = 470;
// A call whose arguments are looked at runs the filter each time.
constexpr unsigned kWeightWithArguments = 8;

std::vector<Piece> pieces_of(Graph& graph, const Table& table) {
  std::vector<Piece> pieces;
  uint32_t next = 0;
  auto add_unlisted = [&](uint32_t beyond) {
    if (next < beyond) pieces.push_back({next, graph.give(table.unlisted), beyond - next});
  };
  for (const auto& [number, rule] : table.rules) {
    add_unlisted(number);
    unsigned weight = rule.cases.empty() ? 1 : kWeightWithArguments;
    pieces.push_back({number, decide_by_arguments(graph, rule), weight});
    next = number + 1;
  }
  add_unlisted(std::max(next + 1, kNumbersOfKernel));
  if (table.arch == Arch::kX86_64) pieces.push_back({kX32Bit, graph.give(kKill), 0});
  return pieces;
}

}  // namespace

std::vector<sock_filter> compile(const Table& table) {
  Graph graph;
  NodeId numbers = search(graph, kNumber, pieces_of(graph, table));
  NodeId entry = graph.ask(BPF_JEQ, audit_arch(table.arch), numbers, graph.give(kKill));
  return lay_out(graph, graph.with(kArch, entry));
}

}  // namespace caisson

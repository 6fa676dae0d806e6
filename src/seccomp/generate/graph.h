// What a filter does, as a graph: words of struct seccomp_data are loaded, questions are asked
// about what was loaded, and verdicts are given.
#pragma once

#include <cstddef>
#include <vector>

#include "seccomp/generate/rule.h"

namespace caisson {

// What the accumulator holds.
struct Word {
  uint32_t offset = 0;  // in struct seccomp_data
  uint32_t mask = ~0u;
  bool operator==(const Word&) const = default;
};

enum class NodeKind { kVerdict, kLoad, kMask, kQuestion };

using NodeId = size_t;

struct Node {
  NodeKind kind = NodeKind::kVerdict;
  uint32_t value = 0;      // the verdict, offset or mask, or what is compared with
  uint16_t condition = 0;  // of a question: BPF_JEQ, BPF_JGE or BPF_JSET
  NodeId yes = 0, no = 0;  // where it goes on; both the same but for a question
  bool operator==(const Node&) const = default;
};

// Equal nodes are one node, so what two calls have in common is in the filter once, even if they
// have it in different arguments. A node is younger than those that it leads to: no circles.
class Graph {
 public:
  NodeId give(Verdict verdict);
  NodeId ask(uint16_t condition, uint32_t value, NodeId yes, NodeId no);
  // `next` with this word in the accumulator, for those who come with another one.
  NodeId with(const Word& word, NodeId next);
  // Past what need not be loaded again, for those who come with `word`.
  NodeId from(const Word& word, NodeId node) const;

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }

 private:
  NodeId only(const Node& node);

  std::vector<Node> nodes_;
};

}  // namespace caisson

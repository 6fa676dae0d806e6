#include "seccomp/generate/graph.h"

#include <algorithm>

namespace caisson {

NodeId Graph::only(const Node& node) {
  auto same = std::ranges::find(nodes_, node);
  if (same == nodes_.end()) same = nodes_.insert(same, node);
  return static_cast<NodeId>(same - nodes_.begin());
}

NodeId Graph::give(Verdict verdict) { return only({.value = verdict}); }

NodeId Graph::ask(uint16_t condition, uint32_t value, NodeId yes, NodeId no) {
  if (yes == no) return yes;
  return only({NodeKind::kQuestion, value, condition, yes, no});
}

NodeId Graph::with(const Word& word, NodeId next) {
  NodeKind kind = nodes_[next].kind;
  if (kind == NodeKind::kVerdict || kind == NodeKind::kLoad) return next;  // it needs no other
  if (word.mask != ~0u) next = only({NodeKind::kMask, word.mask, 0, next, next});
  return only({NodeKind::kLoad, word.offset, 0, next, next});
}

NodeId Graph::from(const Word& word, NodeId id) const {
  const Node& load = nodes_[id];
  if (load.kind != NodeKind::kLoad || load.value != word.offset) return id;
  const Node& next = nodes_[load.yes];
  bool is_masked = next.kind == NodeKind::kMask;
  if (word.mask == ~0u) return load.yes;
  return is_masked && next.value == word.mask ? next.yes : id;
}

}  // namespace caisson

#include "seccomp/generate/layout.h"

#include <algorithm>
#include <optional>

namespace caisson {

namespace {

constexpr size_t kFarthestJump = 255;  // the offset of a conditional jump is one byte

// Jumps only go forward, so the last instruction is written first: places count from the end. What
// a node leads to is written before it, and the latter of two right behind it, if it is new.
class Layout {
 public:
  explicit Layout(const Graph& graph) : graph_(graph), places_(graph.size()) {}

  std::vector<sock_filter> run(NodeId root) {
    write(root);
    std::reverse(code_.begin(), code_.end());
    return code_;
  }

 private:
  void write(NodeId id) {
    if (places_[id]) return;
    const Node& node = graph_[id];
    if (node.kind != NodeKind::kVerdict) {
      write(node.yes);
      write(node.no);
    }
    places_[id] = put_node(node);
  }

  size_t put_node(const Node& node) {
    switch (node.kind) {
      case NodeKind::kVerdict:
        return put(BPF_STMT(BPF_RET | BPF_K, node.value));
      case NodeKind::kLoad:
        return put_before(node.yes, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, node.value));
      case NodeKind::kMask:
        return put_before(node.yes, BPF_STMT(BPF_ALU | BPF_AND | BPF_K, node.value));
      case NodeKind::kQuestion:
        return put_question(node);
    }
    __builtin_unreachable();
  }

  size_t put_before(NodeId next, const sock_filter& instruction) {
    if (distance(*places_[next]) > 0) put_hop(*places_[next]);
    return put(instruction);
  }

  size_t put_question(const Node& node) {
    bring_near(node.yes);
    bring_near(node.no);
    return put(BPF_JUMP(static_cast<uint16_t>(BPF_JMP | node.condition | BPF_K), node.value,
                        static_cast<uint8_t>(distance(*places_[node.yes])),
                        static_cast<uint8_t>(distance(*places_[node.no]))));
  }

  // So near that a conditional jump reaches it, even over what brings the other one near.
  void bring_near(NodeId id) {
    if (distance(*places_[id]) < kFarthestJump) return;
    const Node& node = graph_[id];
    places_[id] = node.kind == NodeKind::kVerdict ? put_node(node) : put_hop(*places_[id]);
  }

  size_t put_hop(size_t place) {
    return put(BPF_STMT(BPF_JMP | BPF_JA, static_cast<uint32_t>(distance(place))));
  }

  // From the instruction that is put next.
  size_t distance(size_t place) const { return code_.size() - place - 1; }

  size_t put(const sock_filter& instruction) {
    code_.push_back(instruction);
    return code_.size() - 1;
  }

  const Graph& graph_;
  std::vector<std::optional<size_t>> places_;  // of nodes that are written
  std::vector<sock_filter> code_;
};

}  // namespace

std::vector<sock_filter> lay_out(const Graph& graph, NodeId root) {
  return Layout(graph).run(root);
}

}  // namespace caisson

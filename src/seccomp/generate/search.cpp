#include "seccomp/generate/search.h"

#include <linux/filter.h>

#include <algorithm>
#include <bit>
#include <span>

namespace caisson {

namespace {

// The last question of a chain goes on at neither of its ends right behind it; such a jump is two
// of the kernel's own instructions.
constexpr unsigned kEndOfChain = kInstruction / 3;
constexpr size_t kLongestChain = 5;

// On the way to any value. A call whose arguments are looked at runs the filter each time, and so
// does every call on a kernel before 5.11.
constexpr size_t kMostQuestions = 10;

// Pieces beside each other that go on alike are one.
std::vector<Piece> joined(const std::vector<Piece>& pieces) {
  std::vector<Piece> out;
  for (const Piece& piece : pieces) {
    if (out.empty() || out.back().then != piece.then)
      out.push_back(piece);
    else
      out.back().weight += piece.weight;
  }
  return out;
}

unsigned weight_of(std::span<const Piece> pieces) {
  unsigned weight = 0;
  for (const Piece& piece : pieces) weight += piece.weight;
  return weight;
}

// Those that don't go on as most do, what weighs most first.
std::vector<Piece> exceptions(std::span<const Piece> pieces, NodeId otherwise) {
  std::vector<Piece> out;
  for (const Piece& piece : pieces)
    if (piece.then != otherwise) out.push_back(piece);
  std::ranges::stable_sort(out, std::ranges::greater{}, &Piece::weight);
  return out;
}

// The best way through some pieces that are beside each other: one question that parts them in two
// (JGE), or a chain of those that ask for one value each (JEQ).
constexpr unsigned kNoPlan = ~0u;
struct Plan {
  unsigned cost = kNoPlan;
  size_t split = 0;      // the first piece of the upper part; 0: a chain
  NodeId otherwise = 0;  // behind the chain
};

// Dynamic programming: the best plan for many pieces is made of the best plans for fewer, with one
// question less.
class Search {
 public:
  Search(Graph& graph, const Word& word, const std::vector<Piece>& pieces)
      : graph_(graph),
        word_(word),
        pieces_(joined(pieces)),
        // Halving again and again takes no more than the width: there is always a plan.
        questions_(std::max<size_t>(kMostQuestions, std::bit_width(pieces_.size()))),
        plans_((questions_ + 1) * pieces_.size() * (pieces_.size() + 1)) {}

  NodeId run() {
    size_t count = pieces_.size();
    for (size_t questions = 0; questions <= questions_; ++questions)
      for (size_t begin = 0; begin < count; ++begin)
        for (size_t end = begin + 1; end <= count; ++end) make_plan(begin, end, questions);
    return graph_.with(word_, build(0, count, questions_));
  }

 private:
  // The best with no more than so many questions to any value.
  Plan& plan(size_t begin, size_t end, size_t questions) {
    size_t count = pieces_.size();
    return plans_[(questions * count + begin) * (count + 1) + end];
  }

  std::span<const Piece> between(size_t begin, size_t end) const {
    return std::span(pieces_).subspan(begin, end - begin);
  }

  void make_plan(size_t begin, size_t end, size_t questions) {
    Plan& best = plan(begin, end, questions);
    std::span<const Piece> pieces = between(begin, end);
    size_t longest = std::min(questions, kLongestChain);
    if (pieces.size() <= 2 * longest + 1)
      for (const Piece& piece : pieces) consider_chain(pieces, piece.then, longest, best);
    unsigned question = kInstruction + weight_of(pieces);
    for (size_t split = begin + 1; questions > 0 && split < end; ++split) {
      unsigned below = plan(begin, split, questions - 1).cost;
      unsigned above = plan(split, end, questions - 1).cost;
      if (below == kNoPlan || above == kNoPlan) continue;
      if (unsigned cost = question + below + above; cost < best.cost) best = {cost, split, 0};
    }
  }

  void consider_chain(std::span<const Piece> pieces, NodeId otherwise, size_t longest,
                      Plan& best) const {
    for (const Piece& piece : pieces)
      if (piece.then != otherwise && !is_one_value(piece)) return;
    std::vector<Piece> asked = exceptions(pieces, otherwise);
    if (asked.size() > longest) return;
    unsigned cost = asked.empty() ? 0 : kEndOfChain, left = weight_of(pieces);
    for (const Piece& piece : asked) {
      cost += kInstruction + left;
      left -= piece.weight;
    }
    if (cost < best.cost) best = {cost, 0, otherwise};
  }

  bool is_one_value(const Piece& piece) const {
    const Piece* next = &piece + 1;
    bool is_last = next == pieces_.data() + pieces_.size();
    return (is_last ? ~0u : next->first - 1) == piece.first;
  }

  NodeId build(size_t begin, size_t end, size_t questions) {
    const Plan best = plan(begin, end, questions);
    if (best.split != 0) {
      NodeId below = build(begin, best.split, questions - 1);
      NodeId above = build(best.split, end, questions - 1);
      return graph_.ask(BPF_JGE, pieces_[best.split].first, above, below);
    }
    NodeId chain = graph_.from(word_, best.otherwise);
    std::vector<Piece> asked = exceptions(between(begin, end), best.otherwise);
    for (size_t i = asked.size(); i-- > 0;)
      chain = graph_.ask(BPF_JEQ, asked[i].first, graph_.from(word_, asked[i].then), chain);
    return chain;
  }

  Graph& graph_;
  Word word_;
  std::vector<Piece> pieces_;
  size_t questions_;
  std::vector<Plan> plans_;
};

}  // namespace

NodeId search(Graph& graph, const Word& word, const std::vector<Piece>& pieces) {
  return Search(graph, word, pieces).run();
}

}  // namespace caisson

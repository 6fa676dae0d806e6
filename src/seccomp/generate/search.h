// The cheapest questions about one word that tell its values apart.
#pragma once

#include "seccomp/generate/graph.h"

namespace caisson {

// The values from `first` up to the next piece go on with `then`.
struct Piece {
  uint32_t first = 0;
  NodeId then = 0;
  unsigned weight = 0;  // what one question more costs them
};

// An instruction costs a start as much as one question more for 80 of the numbers that the kernel
// asks a new filter about (docs/decisions/0002).
constexpr unsigned kInstruction = 80;

// `pieces` begin with the value 0. What comes back loads the word, if there is anything to ask.
NodeId search(Graph& graph, const Word& word, const std::vector<Piece>& pieces);

}  // namespace caisson

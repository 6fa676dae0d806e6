// The two pipes that a call writes to: new ones for each, so that nothing of one call shows in
// another. To make them takes a while, and is done ahead of the next call of whatever session.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::session {

struct OutputPipes {
  UniqueFd readers[2], writers[2];  // the readers, and they alone, never block
  static Result<OutputPipes> make();
};

// Of one host.
class PipesAhead {
 public:
  Result<OutputPipes> take();
  void refill();

 private:
  std::optional<OutputPipes> ready_;
};

}  // namespace caisson::session

#include "base/control.h"

#ifdef CAISSON_MUTANTS
#include <stdlib.h>

namespace caisson {

bool control_enabled(std::string_view control) {
  const char* mutant = ::getenv("CAISSON_MUTANT");
  return !mutant || control != mutant;
}

}  // namespace caisson
#endif

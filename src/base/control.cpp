#include "base/control.h"

#ifdef CAISSON_MUTANTS
#include <stdlib.h>

#include <string>

namespace caisson {

bool control_enabled(std::string_view control) {
  // Asked once: a process that wipes its environment is a mutant still.
  static const std::string mutant = [] {
    const char* name = ::getenv("CAISSON_MUTANT");
    return std::string(name ? name : "");
  }();
  return control != mutant;
}

}  // namespace caisson
#endif

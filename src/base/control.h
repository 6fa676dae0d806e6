// Every control of the boundary has a name, so that a mutant can leave it out and the suite can be
// seen to notice. In every build but the mutant one, control_enabled() is the constant true.
#pragma once

#include <string_view>

namespace caisson {

#ifdef CAISSON_MUTANTS
// False when the environment variable CAISSON_MUTANT names this control. Test builds only.
bool control_enabled(std::string_view control);
#else
constexpr bool control_enabled(std::string_view) { return true; }
#endif

}  // namespace caisson

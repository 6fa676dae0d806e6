// The Python side of a session with one of its controls taken out, by name: for
// tests/sessions/run.py
// --mutants, which has to see each of them noticed. Of the mutant build only.
#pragma once

#include <string>
#include <string_view>

namespace caisson::session {

#ifdef CAISSON_MUTANTS
std::string mutated_kernel(std::string_view source);
#else
constexpr std::string_view mutated_kernel(std::string_view source) { return source; }
#endif

}  // namespace caisson::session

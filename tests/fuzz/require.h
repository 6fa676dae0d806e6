// What every fuzz target has in common: saying what should have held.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

// Ends the program like a crash, so that libFuzzer keeps the input.
#define REQUIRE(condition)                                                                \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

namespace caisson::fuzz {

inline std::string_view as_text(const unsigned char* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// No control code among it, neither as a byte nor as U+0080 to U+009F.
inline bool is_one_printable_line(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i], next = i + 1 < text.size() ? text[i + 1] : 0;
    if (c < 0x20 || c == 0x7f || (c == 0xc2 && next < 0xa0)) return false;
  }
  return is_valid_utf8(text);
}

// An error is one line that names the thing and can't steer the terminal that shows it.
inline void require_good(const Error& error) {
  REQUIRE(!error.what.empty());
  REQUIRE(error.what.size() < 4096 && error.hint.size() < 4096);
  REQUIRE(is_one_printable_line(error.what) && is_one_printable_line(error.hint));
}

}  // namespace caisson::fuzz

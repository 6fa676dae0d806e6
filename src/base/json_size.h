// How much a JSON text would be in memory and time, before anything is built of it. A parser's own
// bounds (size, depth) don't see that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace caisson {

struct JsonSize {
  // Three bytes of text ("[],") become 54 in memory.
  size_t values = 1;
  // Of the keys of each object, added up. Boost's table finds a key by FNV-1a with its own address
  // as the seed, and keys can be chosen that meet in one bucket at any address: so many steps,
  // halved.
  uint64_t key_squares = 0;
};

// Pure. Strings are skipped, for they are most of a large text.
JsonSize measure_json(std::string_view text);

// As many as a session puts into an answer (session/py/jsonio.py), and some for what is around
// them.
constexpr size_t kMostJsonValues = 1'200'000;
constexpr uint64_t kMostKeySquares = 64'000'000;  // one object of 8,000 keys: 0.3 s at the worst

// An error that says what there is too much of. Short texts can't be too much of anything.
Result<void> check_json_size(std::string_view text, size_t most_values = kMostJsonValues);

}  // namespace caisson

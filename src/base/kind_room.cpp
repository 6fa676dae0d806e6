#include "base/kind_room.h"

#include <stdlib.h>
#include <sys/random.h>

#include <charconv>

#include "base/sha256.h"

namespace caisson {

uint64_t SaltedHash::of(std::string_view text) {
  if (salt_.empty()) {
    salt_.resize(16);
    if (::getrandom(salt_.data(), salt_.size(), 0) != static_cast<ssize_t>(salt_.size())) ::abort();
  }
  Sha256 hash;
  hash.add(salt_);
  hash.add(text);
  std::string digits = hash.hex();
  uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + 16, value, 16);
  return value;
}

}  // namespace caisson

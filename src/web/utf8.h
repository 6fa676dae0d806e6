// Bytes of a program made into text that JSON can hold: what isn't UTF-8 becomes U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace caisson::web {

std::string lossy_utf8(std::string_view bytes);

// The same for bytes that come in pieces: a character cut between two pieces stays whole.
class Utf8Stream {
 public:
  std::string feed(std::string_view bytes);
  std::string finish();  // a character that never ended

 private:
  std::string held_;  // the beginning of a character: three bytes at most
};

}  // namespace caisson::web

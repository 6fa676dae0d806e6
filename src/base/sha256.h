// SHA-256, for the audit chain and the policy digest.
#pragma once

#include <string>
#include <string_view>

namespace caisson {

std::string sha256_hex(std::string_view bytes);

// The same, of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  std::string hex();  // once, when all have come

 private:
  alignas(8) unsigned char context_[128];
};

}  // namespace caisson

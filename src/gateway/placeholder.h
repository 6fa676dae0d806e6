// What the cell has in place of a credential. Letters, digits and underscores only, so that JSON,
// percent-encoding and shells leave it as it is; the random part makes it certain that a match in a
// request is meant.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "gateway/secret.h"

namespace caisson {

inline constexpr std::string_view kPlaceholderStart = "caisson_";
inline constexpr size_t kPlaceholderRandom = 16;  // bytes, told as twice as many hex digits

Result<std::string> make_placeholder(std::string_view name);  // caisson_<NAME>_<32 hex>
bool is_placeholder(std::string_view text);                   // of that form
// Three parts of base64url with dots between, the last one random: what stands for a JSON Web
// Token.
bool is_token_placeholder(std::string_view text);

// Watches bytes that may not hold any placeholder: plain HTTP, a raw connection, an opaque tunnel.
// Copies nothing but the last few bytes of each piece.
class PlaceholderScan {
 public:
  explicit PlaceholderScan(const Secrets& secrets) : secrets_(&secrets) {}
  // The secret whose placeholder ends in this piece; null when none does.
  const Secret* feed(std::string_view chunk);
  static const Secret* find(const Secrets& secrets, std::string_view text);

 private:
  const Secrets* secrets_;
  std::string tail_;  // one byte less than the longest placeholder
};

}  // namespace caisson

// JSON Web Tokens: a mask never has the signature, nor a claim that it hides.
#include <cstdint>

#include "gateway/placeholder.h"
#include "gateway/token_mask.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::string_view text = fuzz::as_text(data, size);
  size_t line = std::min(text.find('\n'), text.size());
  std::string_view token = text.substr(std::min(line + 1, text.size()));
  std::vector<std::string> claims;
  for (std::string_view name : split(text.substr(0, line), ','))
    if (claims.size() < 8) claims.emplace_back(name);
  Result<TokenMask> mask = mask_token(token, claims, "T");
  if (!mask.ok()) {
    fuzz::require_good(mask.error());
    return 0;
  }
  std::vector<std::string_view> parts = split(token, '.'), shown = split(mask->placeholder, '.');
  REQUIRE(parts.size() == 3 && shown.size() == 3);
  REQUIRE(shown[0] == parts[0] && shown[2] != parts[2]);
  REQUIRE(mask->claims.size() <= claims.size());
  for (const MaskedClaim& claim : mask->claims) {
    REQUIRE(is_placeholder(claim.placeholder));
    REQUIRE(claim.value.size() >= 8);
  }
  return 0;
}

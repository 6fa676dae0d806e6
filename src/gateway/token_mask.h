// A JSON Web Token that a cell may look into but not use: its claims are there, but those that are
// to be hidden, and its signature is false.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace caisson {

struct MaskedClaim {
  std::string value, placeholder;  // a text that the cell may send on, put back by the gateway
};

struct TokenMask {
  std::string placeholder;          // in place of the token
  std::vector<MaskedClaim> claims;  // those that are texts long enough to be put back
};

// `claims` are names in the payload; one that isn't there is tried as a path with dots. `name` goes
// into the placeholders of the claims. Refused: what is no token of three parts with a JSON object
// in its second. No error tells any of it.
Result<TokenMask> mask_token(std::string_view token, std::span<const std::string> claims,
                             std::string_view name);

}  // namespace caisson

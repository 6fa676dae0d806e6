// The texts in which a value is met: what servers make of it when they repeat it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// As it is; JSON and HTML escapes as the usual encoders write them; percent-encoded; hex; base64
// and base64url at all three alignments ("user:VALUE" encoded as a whole has it inside), but for a
// character that has bits of a neighbour too. Base64 that is broken into lines isn't known. No two
// the same, none shorter than kMinSecretValue.
std::vector<std::string> spellings_of(std::string_view value);

// All but RFC 3986's unreserved characters.
std::string percent_encoded(std::string_view text);

// The characters that stand for `value` alone in base64 of any text that has `before` bytes in
// front of it (counted modulo 3) and any bytes behind.
std::string base64_inside(std::string_view value, size_t before);

// The same where the text ends with `value`: the last character's bits that are left are zero, so
// it stands for the value alone too. Without the padding, which some leave out.
std::string base64_at_end(std::string_view value, size_t before);

// Standard alphabet, padding complete or left out; anything else is none.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace caisson

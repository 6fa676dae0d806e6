#include "gateway/token_mask.h"

#include <sys/random.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/json_size.h"
#include "base/text.h"
#include "gateway/placeholder.h"
#include "gateway/secret_spellings.h"
#include "rules/secret_spec.h"

namespace caisson {

namespace json = boost::json;

namespace {

constexpr size_t kLeastSignature = 2 * kPlaceholderRandom, kMostSignature = 1024;

Error no_token() {
  return Error::plain("that is no JSON Web Token", "three parts of base64url with dots between");
}

std::string url_to_plain(std::string_view text) {
  std::string out(text);
  std::ranges::replace(out, '-', '+');
  std::ranges::replace(out, '_', '/');
  return out;
}

std::string base64url(std::string_view bytes) {
  std::string out = base64(bytes);
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  while (out.ends_with('=')) out.pop_back();
  return out;
}

Result<json::object> object_in(std::string_view part) {
  std::optional<std::string> text = decode_base64(url_to_plain(part));
  if (!text || !check_json_size(*text)) return no_token();
  boost::system::error_code failed;
  json::parse_options bounds;
  bounds.max_depth = 32;
  json::value value = json::parse(*text, failed, {}, bounds);
  if (failed || !value.is_object()) return no_token();
  return std::move(value.get_object());
}

// "https://example.com/auth" is one name; "auth.user.id" may be a path.
json::value* find_claim(json::object& payload, std::string_view name) {
  if (json::value* whole = payload.if_contains(name)) return whole;
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    json::value* outer = payload.if_contains(name.substr(0, dot));
    if (!outer || !outer->is_object()) continue;
    if (json::value* inner = find_claim(outer->get_object(), name.substr(dot + 1))) return inner;
  }
  return nullptr;
}

bool can_be_put_back(std::string_view text) {
  auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return text.size() >= kMinSecretValue && text.size() <= kMaxSecretValue &&
         std::ranges::none_of(text, control);
}

Result<void> mask_claim(json::value& claim, std::string_view name, TokenMask& mask) {
  std::string placeholder = TRY(make_placeholder(name));
  if (const json::string* text = claim.if_string(); text && can_be_put_back(*text))
    mask.claims.push_back({std::string(*text), placeholder});
  claim = json::value(placeholder);
  return {};
}

// As long as the real one, which programs size their buffers by.
Result<std::string> false_signature(size_t characters) {
  characters = std::clamp(characters, kLeastSignature, kMostSignature);
  std::string random(characters, '\0');
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    return Error::system("getrandom for a token's signature");
  return base64url(random).substr(0, characters);
}

}  // namespace

Result<TokenMask> mask_token(std::string_view token, std::span<const std::string> claims,
                             std::string_view name) {
  std::vector<std::string_view> parts = split(token, '.');
  if (token.size() > kMaxSecretValue || parts.size() != 3) return no_token();
  TRY(object_in(parts[0]));
  json::object payload = TRY(object_in(parts[1]));
  TokenMask mask;
  bool changed = false;
  for (const std::string& each : claims)
    if (json::value* claim = find_claim(payload, each)) {
      TRY(mask_claim(*claim, name, mask));
      changed = true;
    }
  std::string shown = changed ? base64url(json::serialize(payload)) : std::string(parts[1]);
  mask.placeholder =
      std::string(parts[0]) + "." + shown + "." + TRY(false_signature(parts[2].size()));
  return mask;
}

}  // namespace caisson

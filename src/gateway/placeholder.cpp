#include "gateway/placeholder.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "rules/secret_spec.h"

namespace caisson {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_hex_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

Result<std::string> make_placeholder(std::string_view name) {
  std::array<unsigned char, kPlaceholderRandom> random;
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    return Error::system("getrandom for a placeholder");
  return fmt::format("{}{}_{}", kPlaceholderStart, name, hex(random));
}

bool is_placeholder(std::string_view text) {
  constexpr size_t kTail = 2 * kPlaceholderRandom;
  if (!text.starts_with(kPlaceholderStart)) return false;
  text.remove_prefix(kPlaceholderStart.size());
  if (text.size() < 1 + 1 + kTail || text.size() > kMaxSecretName + 1 + kTail) return false;
  std::string_view name = text.substr(0, text.size() - kTail - 1);
  return text[name.size()] == '_' && std::ranges::all_of(name, is_name_character) &&
         std::ranges::all_of(text.substr(name.size() + 1), is_hex_digit);
}

bool is_token_placeholder(std::string_view text) {
  auto in_part = [](char c) { return is_name_character(c) || c == '-'; };
  std::vector<std::string_view> parts = split(text, '.');
  return parts.size() == 3 && text.size() <= kMaxSecretValue && !parts[0].empty() &&
         !parts[1].empty() && parts[2].size() >= 2 * kPlaceholderRandom &&
         std::ranges::all_of(parts, [&](auto part) { return std::ranges::all_of(part, in_part); });
}

const Secret* PlaceholderScan::find(const Secrets& secrets, std::string_view text) {
  auto match = secrets.placeholders().find(text);
  return match ? &secrets.all()[match->pattern] : nullptr;
}

const Secret* PlaceholderScan::feed(std::string_view chunk) {
  if (secrets_->empty()) return nullptr;
  // Across the border: the tail and as much of the new piece as a placeholder could take.
  size_t reach = secrets_->placeholders().longest() - 1;
  tail_.append(chunk.substr(0, reach));
  if (const Secret* found = find(*secrets_, tail_)) return found;
  if (chunk.size() > reach) {
    if (const Secret* found = find(*secrets_, chunk)) return found;
    tail_.assign(chunk.substr(chunk.size() - reach));
  } else if (tail_.size() > reach) {
    tail_.erase(0, tail_.size() - reach);
  }
  return nullptr;
}

}  // namespace caisson

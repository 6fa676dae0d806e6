#include "base/http_words.h"

#include <algorithm>

namespace caisson {

static bool is_token_char(unsigned char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return c != 0 &&
         std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
}

bool is_http_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

}  // namespace caisson

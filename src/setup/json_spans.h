// Where the members of a JSON object stand in its text. Reads only text that a parser has taken
// already, so that brackets are known to match.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace caisson::setup {

struct JsonMember {
  std::string key;
  size_t begin = 0;                  // of the key's quote
  size_t value = 0, end = 0;         // of the value
  size_t comma = std::string::npos;  // behind the value, if there is one
};

struct JsonSpans {
  size_t open = 0, close = 0;  // of the braces
  std::vector<JsonMember> members;

  const JsonMember* find(std::string_view key) const;
  size_t count(std::string_view key) const;
};

// Behind white space and comments.
size_t skip_trivia(std::string_view text, size_t at);
JsonSpans object_spans(std::string_view text, size_t open);

}  // namespace caisson::setup

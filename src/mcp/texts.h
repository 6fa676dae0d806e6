// Texts for a model: valid UTF-8, bounded, in the words that users of these tools know. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mcp/jsonrpc.h"
#include "session/session.h"

namespace caisson::mcp {

inline constexpr size_t kMaxShown = 20'000;  // characters of one result's text

// Whatever bytes a cell printed, as UTF-8: each byte that isn't part of a character becomes U+FFFD.
std::string clean_utf8(std::string_view bytes);
size_t count_characters(std::string_view utf8);

// Head and tail of a text of more than `limit` characters, with `mark` between them; the whole is
// within the limit. The text itself when it is short enough.
std::string cut_middle(const std::string& text, size_t limit, std::string_view mark);

// Indented by two, as Python's json.dumps(indent=2) writes it.
std::string pretty_json(const json::value& value);

struct Image {
  std::string mime, base64;
};

// What a call came to, before anything is cut.
struct Shown {
  std::string text;
  std::vector<Image> images;
  bool is_error = false;
};

Shown show_exec(const session::CallAnswer& answer);
Shown show_vars(const session::CallAnswer& answer);
Shown show_value(const session::CallAnswer& answer);
Shown show_load(const session::CallAnswer& answer, std::string_view path,
                std::string_view variable);

// "Error: file not found: …" and its kin.
std::string load_error_text(const Error& error, std::string_view path);
std::string error_line(const Error& error);

}  // namespace caisson::mcp

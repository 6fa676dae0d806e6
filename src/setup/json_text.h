// Edits JSON by its text: one member is put in or taken out, and every other byte stays as the
// person wrote it, comments, order and indentation included. A parser that writes back what it
// understood would lose all three.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson::setup {

enum class JsonDialect {
  kStrict,
  kComments,  // JSON as editors read it: comments and trailing commas
};

constexpr size_t kMaxConfigBytes = 64u << 20;  // Claude Code keeps histories in its file: megabytes

// The document as data. An error says where it stops being JSON.
Result<boost::json::object> read_json(std::string_view text, JsonDialect);

// `levels` objects were made on the way, the innermost ones of the path.
struct JsonAdded {
  std::string text;
  size_t levels = 0;
};

// Puts `key: value` into the object at `path`, making the objects that are missing. The key must
// not be there yet. Empty text is an empty document.
Result<JsonAdded> add_member(std::string_view text, JsonDialect, std::span<const std::string> path,
                             const std::string& key, const boost::json::value& value);

// Replaces the string that stands at path + key.
Result<std::string> replace_string(std::string_view text, JsonDialect,
                                   std::span<const std::string> path, const std::string& key,
                                   const std::string& value);

// Takes the key out of the object at `path`, and then the `levels` innermost objects of the path
// as far as they are empty now.
Result<std::string> remove_member(std::string_view text, JsonDialect,
                                  std::span<const std::string> path, const std::string& key,
                                  size_t levels);

// How many objects of the path are there.
size_t depth_of(const boost::json::object& document, std::span<const std::string> path);

}  // namespace caisson::setup

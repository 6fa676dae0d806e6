// JSON text as a tree in which every value knows its line, so that an error can point at it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace caisson::srt {

struct Node {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  size_t line = 1;
  std::string text;  // of a string; of a number its digits as they were written; "true", "false"
  std::vector<Node> items;
  struct Member;
  std::vector<Member> members;  // in the order of the file, each name once

  const Node* find(std::string_view name) const;
};

struct Node::Member {
  std::string name;
  Node value;
};

// "a string", "an array", …
const char* kind_name(Node::Kind kind);

// JSON and nothing else: no comments, no trailing commas, no name twice in one object, no more than
// 1 MiB. `name` stands in front of an error: "NAME:12: …".
Result<Node> parse_json(std::string_view text, std::string_view name);

}  // namespace caisson::srt

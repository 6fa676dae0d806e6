// The id of a message that is not parsed, because it is too long or too deep: without it a client
// waits for an answer that never comes. Reads the text in pieces and keeps next to nothing. Pure.
#pragma once

#include <string>
#include <string_view>

#include "mcp/jsonrpc.h"

namespace caisson::mcp {

class TopId {
 public:
  void feed(std::string_view bytes);
  // Null: there is none, or the text is not what an id can be found in.
  json::value found() const;

 private:
  void take(char c);
  void in_text(char c);
  void end_of_member();

  enum class Place { kBefore, kKey, kValue, kAfter };
  Place place_ = Place::kBefore;
  size_t depth_ = 0;
  bool in_text_ = false, escaped_ = false;
  bool is_id_ = false, several_ = false;
  std::string key_, value_, id_;  // of the outermost object; bounded
};

}  // namespace caisson::mcp

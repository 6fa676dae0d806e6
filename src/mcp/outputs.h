// The whole of results that were cut, for as long as there is room: what resources show.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/jsonrpc.h"

namespace caisson::mcp {

class Outputs {
 public:
  static constexpr size_t kMaxEntries = 64;
  static constexpr size_t kMaxBytes = 64 << 20;

  struct Entry {
    std::string uri, scope, mime;
    std::string data;  // text, or base64 of a blob
    bool blob = false;
  };

  // Returns its address, "rlm://SESSION/outputs/N". The oldest go when there is no more room.
  std::string keep(std::string scope, std::string_view session, std::string mime, std::string data,
                   bool blob);
  // Only what belongs to that scope.
  const Entry* find(std::string_view scope, std::string_view uri) const;
  json::array list(std::string_view scope) const;  // newest first
  // The last part of their addresses, newest first; of all sessions when none is named.
  std::vector<std::string> numbers(std::string_view scope, std::string_view session) const;

 private:
  std::deque<Entry> entries_;
  size_t bytes_ = 0;
  uint64_t count_ = 0;
};

}  // namespace caisson::mcp

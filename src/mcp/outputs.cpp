#include "mcp/outputs.h"

#include <fmt/format.h>

namespace caisson::mcp {

std::string Outputs::keep(std::string scope, std::string_view session, std::string mime,
                          std::string data, bool blob) {
  bytes_ += data.size();
  entries_.push_back({fmt::format("rlm://{}/outputs/{}", session, ++count_), std::move(scope),
                      std::move(mime), std::move(data), blob});
  while (entries_.size() > kMaxEntries || (bytes_ > kMaxBytes && entries_.size() > 1)) {
    bytes_ -= entries_.front().data.size();
    entries_.pop_front();
  }
  return entries_.back().uri;
}

const Outputs::Entry* Outputs::find(std::string_view scope, std::string_view uri) const {
  for (const Entry& entry : entries_)
    if (entry.uri == uri && entry.scope == scope) return &entry;
  return nullptr;
}

json::array Outputs::list(std::string_view scope) const {
  json::array all;
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
    if (entry->scope == scope)
      all.push_back(
          json::object{{"uri", entry->uri},
                       {"name", entry->uri.substr(entry->uri.find("//") + 2)},
                       {"description", entry->blob ? "A figure" : "The whole of an output"},
                       {"mimeType", entry->mime}});
  return all;
}

}  // namespace caisson::mcp

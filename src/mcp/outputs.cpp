#include "mcp/outputs.h"

#include <fmt/format.h>

namespace caisson::mcp {

namespace {

// As many bytes, but for a character that they would cut.
size_t whole_characters(std::string_view text, size_t most) {
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return most;
}

}  // namespace

std::string Outputs::keep(std::string scope, std::string_view session, std::string mime,
                          std::string data, bool blob) {
  // A blob that is cut is none.
  if (data.size() > kMaxBytes) data.resize(blob ? 0 : whole_characters(data, kMaxBytes));
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

std::vector<std::string> Outputs::numbers(std::string_view scope, std::string_view session) const {
  std::vector<std::string> found;
  std::string start = session.empty() ? "rlm://" : fmt::format("rlm://{}/", session);
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
    if (entry->scope == scope && entry->uri.starts_with(start))
      found.push_back(entry->uri.substr(entry->uri.rfind('/') + 1));
  return found;
}

}  // namespace caisson::mcp

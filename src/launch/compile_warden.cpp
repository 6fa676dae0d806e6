#include "launch/compile_warden.h"

#include "base/control.h"
#include "base/text.h"

namespace caisson {

const std::string& CompiledWarden::keep(std::string text) {
  strings_.push_back(std::move(text));
  return strings_.back();
}

// The part whose folder has to be older: the first one of the name itself, behind the `**` that
// says where it may be; in a pattern without one, the first that is no wildcard.
static uint32_t first_part(const FilePattern& from, const std::vector<warden::Part>& parts) {
  auto count = static_cast<uint32_t>(parts.size());
  if (from.by_last_folder || !control_enabled("warden-first-folder")) return count;
  uint32_t at = 0;
  while (at < count && parts[at].kind != warden::Part::kAnyDepth) ++at;
  if (at < count) return at + 1;
  for (at = 0; at < count && parts[at].kind != warden::Part::kLiteral;) ++at;
  return at;
}

warden::Pattern CompiledWarden::pattern(const FilePattern& from) {
  std::vector<std::string_view> words;
  for (std::string_view word : split(from.text, '/'))
    if (!word.empty()) words.push_back(word);
  std::string head;
  size_t literal = std::min(from.literal_head, words.size());
  for (size_t i = 0; i < literal; ++i) head += "/" + std::string(words[i]);
  std::vector<warden::Part>& parts = parts_.emplace_back();
  for (size_t i = literal; i < words.size() && parts.size() < warden::kMostParts; ++i) {
    bool any_depth = words[i] == "**";
    if (any_depth && !parts.empty() && parts.back().kind == warden::Part::kAnyDepth) continue;
    bool glob = words[i].find_first_of("*?[") != std::string_view::npos;
    const std::string& text = keep(std::string(words[i]));
    parts.push_back({text.c_str(), static_cast<uint16_t>(text.size()),
                     any_depth ? warden::Part::kAnyDepth
                     : glob    ? warden::Part::kGlob
                               : warden::Part::kLiteral});
  }
  const std::string& kept = keep(std::move(head));
  return {kept.c_str(),
          static_cast<uint32_t>(kept.size()),
          parts.data(),
          static_cast<uint32_t>(parts.size()),
          from.only_in_older_folder,
          first_part(from, parts),
          from.covers != FilePattern::Covers::kTree,
          from.covers == FilePattern::Covers::kNewFile,
          from.covers == FilePattern::Covers::kWay};
}

const warden::Pattern* CompiledWarden::patterns(const std::vector<FilePattern>& from,
                                                uint32_t& count) {
  std::vector<warden::Pattern>& out = patterns_.emplace_back();
  for (const FilePattern& one : from) out.push_back(pattern(one));
  count = static_cast<uint32_t>(out.size());
  return out.data();
}

void CompiledWarden::compile(const WardenPlan& plan, int report_fd) {
  rules_.deny_write = patterns(plan.deny_write, rules_.deny_write_count);
  rules_.deny_read = patterns(plan.deny_read, rules_.deny_read_count);
  rules_.allow_read = patterns(plan.allow_read, rules_.allow_read_count);
  for (warden::Pattern& one : patterns_.back()) one.letters = warden::Letters::kExact;
  for (const std::string& path : plan.sockets) sockets_.push_back(keep(path).c_str());
  rules_.sockets = sockets_.data();
  rules_.socket_count = static_cast<uint32_t>(sockets_.size());
  rules_.own_network = plan.own_network;
  // In the warden's process the socket for reports has this number (child_warden.cpp).
  rules_.report_fd = plan.report && report_fd >= 0 ? 1 : -1;
  rules_.judge_names = control_enabled("warden-names");
  rules_.judge_renames = control_enabled("warden-renames");
  rules_.judge_links = control_enabled("warden-links");
  rules_.judge_reads = control_enabled("warden-reads");
  rules_.judge_sockets = control_enabled("warden-sockets");
  rules_.judge_places = control_enabled("warden-places");
  rules_.judge_socket_places = control_enabled("warden-socket-places");
  rules_.judge_through_links = control_enabled("warden-through-links");
}

}  // namespace caisson

#include "session/load_pattern.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace caisson::session {

namespace {

constexpr size_t kMostParts = 64;
constexpr std::string_view kWild = "*?[";

PatternPart part_of(std::string_view text) {
  if (has_wildcard(text)) return {std::string(text), true};
  PatternPart plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain.text += text[i];
  }
  return plain;
}

// `[…]` at `at`: the byte behind it; 0 when it has no end, and stands for itself.
size_t set_end(std::string_view pattern, size_t at) {
  size_t i = at + 1;
  if (i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^')) ++i;
  if (i < pattern.size() && pattern[i] == ']') ++i;
  size_t end = pattern.find(']', i);
  return end == std::string_view::npos ? 0 : end + 1;
}

bool in_set(std::string_view set, char c) {  // without the brackets
  bool negated = set.starts_with('!') || set.starts_with('^');
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (size_t i = 0; i < set.size(); ++i) {
    char low = set[i], high = low;
    if (i + 2 < set.size() && set[i + 1] == '-') high = set[i += 2];
    auto byte = [](char one) { return static_cast<unsigned char>(one); };
    found = found || (byte(low) <= byte(c) && byte(c) <= byte(high));
  }
  return found != negated;
}

// How many bytes of the pattern match `c`; 0: it doesn't.
size_t one_matches(std::string_view pattern, size_t at, char c) {
  if (pattern[at] == '?') return 1;
  if (pattern[at] == '[')
    if (size_t end = set_end(pattern, at))
      return in_set(pattern.substr(at + 1, end - at - 2), c) ? end - at : 0;
  if (pattern[at] == '\\' && at + 1 < pattern.size()) return pattern[at + 1] == c ? 2 : 0;
  return pattern[at] == c ? 1 : 0;
}

}  // namespace

bool has_wildcard(std::string_view path) {
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\')
      ++i;
    else if (kWild.find(path[i]) != std::string_view::npos)
      return true;
  }
  return false;
}

Result<std::vector<PatternPart>> pattern_parts(std::string_view path) {
  std::vector<PatternPart> parts;
  while (!path.empty()) {
    size_t end = std::min(path.find('/'), path.size());
    std::string_view text = path.substr(0, end);
    path.remove_prefix(std::min(path.size(), end + 1));
    if (text.empty() || text == ".") continue;
    if (parts.size() == kMostParts)
      return Error::plain(fmt::format("load: a pattern of more than {} parts", kMostParts),
                          "name the folder that the files are in");
    parts.push_back(part_of(text));
  }
  return parts;
}

PatternWay way_of(const std::vector<PatternPart>& parts) {
  PatternWay way;
  for (const PatternPart& part : parts) {
    if (part.is_wild)
      way.steps.push_back({std::exchange(way.tail, {}), part.text});
    else
      way.tail += "/" + part.text;
  }
  return way;
}

// A star goes back to itself with one byte more; only the last one has to.
bool matches_part(std::string_view pattern, std::string_view name) {
  if (name.starts_with('.') && !pattern.starts_with('.')) return false;
  size_t p = 0, n = 0, behind_star = 0, from = 0;
  bool has_star = false;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      has_star = true;
      behind_star = ++p;
      from = n;
      continue;
    }
    size_t took = p < pattern.size() ? one_matches(pattern, p, name[n]) : 0;
    if (took) {
      p += took;
      ++n;
    } else if (has_star) {
      p = behind_star;
      n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace caisson::session

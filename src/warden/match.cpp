#include "warden/match.h"

namespace caisson::warden {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool same_text(const char* a, const char* b, uint32_t size) {
  for (uint32_t i = 0; i < size; ++i)
    if (a[i] != b[i] && lower(a[i]) != lower(b[i])) return false;
  return true;
}

// `[…]` at `at`: the byte after it, or 0 when it has no end and stands for itself.
uint32_t set_end(const Part& part, uint32_t at) {
  uint32_t i = at + 1;
  if (i < part.size && (part.text[i] == '!' || part.text[i] == '^')) ++i;
  if (i < part.size && part.text[i] == ']') ++i;
  while (i < part.size && part.text[i] != ']') ++i;
  return i < part.size ? i + 1 : 0;
}

bool in_set(const Part& part, uint32_t at, uint32_t end, char c) {
  uint32_t i = at + 1;
  bool negated = part.text[i] == '!' || part.text[i] == '^';
  if (negated) ++i;
  bool found = false;
  c = lower(c);
  for (; i < end - 1; ++i) {
    char low = lower(part.text[i]), high = low;
    if (i + 2 < end - 1 && part.text[i + 1] == '-') high = lower(part.text[i += 2]);
    found = found || (low <= c && c <= high);
  }
  return found != negated;
}

// One character of the pattern at `at` against `c`; how many bytes of the pattern it took, or 0.
uint32_t one_matches(const Part& part, uint32_t at, char c) {
  if (part.text[at] == '?') return 1;
  if (part.text[at] == '[')
    if (uint32_t end = set_end(part, at)) return in_set(part, at, end, c) ? end - at : 0;
  return lower(part.text[at]) == lower(c) ? 1 : 0;
}

// A star goes back to itself with one byte more; only the last one has to, so the work is bounded
// by the product of the lengths.
bool glob_matches(const Part& part, const char* name, uint32_t size) {
  uint32_t p = 0, n = 0, star = 0, star_name = 0;
  bool has_star = false;
  while (n < size) {
    if (p < part.size && part.text[p] == '*') {
      has_star = true;
      star = ++p;
      star_name = n;
      continue;
    }
    uint32_t took = p < part.size ? one_matches(part, p, name[n]) : 0;
    if (took) {
      p += took;
      ++n;
    } else if (has_star) {
      p = star;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < part.size && part.text[p] == '*') ++p;
  return p == part.size;
}

// Whether a folder of that name is above the path's last one.
bool lies_in_modules(const char* path, uint32_t from, uint32_t size) {
  constexpr char kName[] = "/node_modules/";
  constexpr uint32_t kLength = sizeof kName - 1;
  for (uint32_t at = from; at + kLength < size; ++at) {
    uint32_t same = 0;
    while (same < kLength && path[at + same] == kName[same]) ++same;
    if (same == kLength) return true;
  }
  return false;
}

}  // namespace

bool part_matches(const Part& part, const char* name, uint32_t size) {
  if (part.kind == Part::kLiteral) return part.size == size && same_text(part.text, name, size);
  return glob_matches(part, name, size);
}

Match match(const Pattern& pattern, const char* path, uint32_t size) {
  Match out;
  if (size <= 1) size = 0;  // "/" is the ancestor of all
  if (size < pattern.head_size) {
    out.ancestor = same_text(pattern.head, path, size) && pattern.head[size] == '/';
    return out;
  }
  if (!same_text(pattern.head, path, pattern.head_size)) return out;
  if (size > pattern.head_size && path[pattern.head_size] != '/') return out;
  if (pattern.only_in_older_folder && lies_in_modules(path, pattern.head_size, size)) return out;

  uint64_t accept = uint64_t{1} << pattern.count;
  uint64_t progressed = 1, looped = 0;  // states reached by a part's match, and by a "**"
  uint32_t at = pattern.head_size;
  for (;;) {
    uint64_t live = progressed | looped;
    for (uint32_t i = 0; i < pattern.count; ++i)  // "**" is also no folder at all
      if ((live >> i & 1) && pattern.parts[i].kind == Part::kAnyDepth) live |= uint64_t{2} << i;
    if (live & accept) {
      out.hit = true;
      out.matched = at;
      return out;
    }
    if (at >= size || live == 0) break;
    uint32_t begin = at + 1, end = begin;
    while (end < size && path[end] != '/') ++end;
    progressed = looped = 0;
    for (uint32_t i = 0; i < pattern.count; ++i) {
      if (!(live >> i & 1)) continue;
      if (pattern.parts[i].kind == Part::kAnyDepth)
        looped |= uint64_t{1} << i;
      else if (part_matches(pattern.parts[i], path + begin, end - begin))
        progressed |= uint64_t{2} << i;
    }
    at = end;
  }
  out.ancestor = progressed != 0;
  out.loops = looped;
  return out;
}

}  // namespace caisson::warden

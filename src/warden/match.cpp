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

bool is_word(const char* name, uint32_t size, const char* word) {
  uint32_t n = 0;
  while (n < size && word[n] && name[n] == word[n]) ++n;
  return n == size && !word[n];
}

bool names_bare_repository(const char* name, uint32_t size) {
  return is_word(name, size, ".bare") || (size > 4 && is_word(name + size - 4, 4, ".git"));
}

bool is_gits_own(const char* name, uint32_t size) {
  return is_word(name, size, "logs") || is_word(name, size, "refs") ||
         is_word(name, size, "worktrees") || is_word(name, size, "modules");
}

// The states of a pattern while a path is read, part by part.
class Reading {
 public:
  Reading(const Pattern& pattern, uint64_t states)
      : pattern_(pattern), parts_((uint64_t{1} << pattern.count) - 1), progressed_(states) {}
  uint64_t live() const {
    uint64_t live = progressed_ | looped_;
    // "**" is also no folder at all. Two of them never stand side by side.
    for (uint64_t left = live & parts_; left; left &= left - 1)
      if (kind_of(left) == Part::kAnyDepth) live |= (left & -left) << 1;
    return live;
  }
  // The part that begins with the slash at `at`; where it ends. `before` is what is live.
  uint32_t take(uint64_t before, const char* path, uint32_t size, uint32_t at) {
    uint32_t begin = at + 1, end = begin;
    while (end < size && path[end] != '/') ++end;
    progressed_ = looped_ = 0;
    for (uint64_t left = before & parts_; left; left &= left - 1) {
      uint64_t state = left & -left;
      if (kind_of(left) == Part::kAnyDepth)
        looped_ |= state;
      else if (part_matches(pattern_.parts[__builtin_ctzll(left)], path + begin, end - begin))
        progressed_ |= state << 1;
    }
    return end;
  }
  uint64_t progressed() const { return progressed_; }
  uint64_t looped() const { return looped_; }

 private:
  Part::Kind kind_of(uint64_t states) const {  // of the first
    return pattern_.parts[__builtin_ctzll(states)].kind;
  }

  const Pattern& pattern_;
  uint64_t parts_;                    // the states that have a part
  uint64_t progressed_, looped_ = 0;  // reached by a part's match, and by a "**"
};

Match read_on(const Pattern& pattern, const char* path, uint32_t size, uint32_t at,
              uint64_t states) {
  Match out;
  uint64_t accept = uint64_t{1} << pattern.count;
  Reading reading(pattern, states);
  for (;;) {
    uint64_t live = reading.live();
    if ((live & accept) && (at >= size || !pattern.itself_only)) {
      out.hit = true;
      out.matched = at;
      return out;
    }
    if (at >= size || live == 0) break;
    at = reading.take(live, path, size, at);
  }
  out.ancestor = reading.progressed() != 0;
  out.loops = reading.looped();
  return out;
}

bool lies_below_head(const Pattern& pattern, const char* path, uint32_t size) {
  return same_text(pattern.head, path, pattern.head_size) &&
         (size == pattern.head_size || path[pattern.head_size] == '/');
}

}  // namespace

bool part_matches(const Part& part, const char* name, uint32_t size) {
  if (part.kind == Part::kLiteral) return part.size == size && same_text(part.text, name, size);
  if (size == 0 || part.size == 0) return glob_matches(part, name, size);
  // Most names differ in their last letter already, and every name that is made is asked.
  char last = part.text[part.size - 1];
  bool stands_for_itself = last != '*' && last != '?' && last != ']';
  if (stands_for_itself && lower(last) != lower(name[size - 1])) return false;
  return glob_matches(part, name, size);
}

Match match(const Pattern& pattern, const char* path, uint32_t size) {
  Match out;
  if (size <= 1) size = 0;  // "/" is the ancestor of all
  if (size < pattern.head_size) {
    out.ancestor = same_text(pattern.head, path, size) && pattern.head[size] == '/';
    return out;
  }
  if (!lies_below_head(pattern, path, size)) return out;
  if (pattern.only_in_older_folder && lies_in_modules(path, pattern.head_size, size)) return out;
  return read_on(pattern, path, size, pattern.head_size, 1);
}

bool lies_in_repository(const char* path, uint32_t from, uint32_t size) {
  bool in_bare = false;
  for (uint32_t begin = from + 1, end; begin < size; begin = end + 1) {
    for (end = begin; end < size && path[end] != '/';) ++end;
    if (end >= size) return false;
    const char* name = path + begin;
    if (is_word(name, end - begin, ".git")) return true;
    if (in_bare && is_gits_own(name, end - begin)) return true;
    in_bare = names_bare_repository(name, end - begin);
  }
  return false;
}

uint32_t begins_at(const Pattern& pattern, const char* path, uint32_t size, uint32_t from) {
  if (size <= pattern.head_size || !lies_below_head(pattern, path, size)) return kNowhere;
  Reading before(pattern, 1);
  for (uint32_t at = pattern.head_size; at < size;) {
    uint64_t live = before.live();
    if (at >= from && (live >> pattern.first & 1)) {
      Match rest = read_on(pattern, path, size, at, uint64_t{1} << pattern.first);
      if (rest.hit || rest.ancestor || rest.loops) return at;
    }
    at = before.take(live, path, size, at);
  }
  return kNowhere;
}

}  // namespace caisson::warden

#include "warden/match.h"

namespace caisson::warden {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool same_letter(char a, char b, Letters letters) {
  return a == b || (letters == Letters::kAnyCase && lower(a) == lower(b));
}

bool same_text(const char* a, const char* b, uint32_t size, Letters letters) {
  for (uint32_t i = 0; i < size; ++i)
    if (a[i] != b[i] && !same_letter(a[i], b[i], letters)) return false;
  return true;
}

// One character of UTF-8 and its length. A byte that begins none stands for itself, as a number
// that no character has.
struct Character {
  uint32_t number, length;
};

Character character_at(const char* text, uint32_t at, uint32_t end) {
  auto byte = [&](uint32_t i) { return uint32_t{static_cast<unsigned char>(text[i])}; };
  uint32_t first = byte(at);
  uint32_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first > 0xf4 || length == 0 || at + length > end) return {0x110000 + first, 1};
  uint32_t number = length == 1 ? first : first & (0x7fu >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return {0x110000 + first, 1};
    number = number << 6 | (byte(at + i) & 0x3f);
  }
  return {number, length};
}

uint32_t folded(uint32_t number, Letters letters) {
  return letters == Letters::kAnyCase && number >= 'A' && number <= 'Z' ? number + 32 : number;
}

// `[…]` at `at`: the byte after it, or 0 when it has no end and stands for itself.
uint32_t set_end(const Part& part, uint32_t at) {
  uint32_t i = at + 1;
  if (i < part.size && (part.text[i] == '!' || part.text[i] == '^')) ++i;
  if (i < part.size && part.text[i] == ']') ++i;
  while (i < part.size && part.text[i] != ']') ++i;
  return i < part.size ? i + 1 : 0;
}

bool in_set(const Part& part, uint32_t at, uint32_t end, uint32_t number, Letters letters) {
  uint32_t i = at + 1, last = end - 1;
  bool negated = part.text[i] == '!' || part.text[i] == '^';
  if (negated) ++i;
  bool found = false;
  number = folded(number, letters);
  while (i < last) {
    Character one = character_at(part.text, i, last);
    uint32_t low = folded(one.number, letters), high = low;
    i += one.length;
    if (i + 1 < last && part.text[i] == '-') {
      Character other = character_at(part.text, i + 1, last);
      high = folded(other.number, letters);
      i += 1 + other.length;
    }
    found = found || (low <= number && number <= high);
  }
  return found != negated;
}

// What one character of the pattern, or a set, took of the pattern and of the name; 0: no match.
struct Taken {
  uint32_t pattern = 0, name = 0;
};

Taken take_one(const Part& part, uint32_t at, const char* name, uint32_t n, uint32_t size,
               Letters letters) {
  if (part.text[at] == '?') return {1, character_at(name, n, size).length};
  if (part.text[at] == '[')
    if (uint32_t end = set_end(part, at)) {
      Character one = character_at(name, n, size);
      if (!in_set(part, at, end, one.number, letters)) return {};
      return {end - at, one.length};
    }
  return same_letter(part.text[at], name[n], letters) ? Taken{1, 1} : Taken{};
}

// A star goes back to itself with one character more; only the last one has to, so the work is
// bounded by the product of the lengths.
bool glob_matches(const Part& part, const char* name, uint32_t size, Letters letters) {
  uint32_t p = 0, n = 0, star = 0, star_name = 0;
  bool has_star = false;
  while (n < size) {
    if (p < part.size && part.text[p] == '*') {
      has_star = true;
      star = ++p;
      star_name = n;
      continue;
    }
    Taken took = p < part.size ? take_one(part, p, name, n, size, letters) : Taken{};
    if (took.pattern) {
      p += took.pattern;
      n += took.name;
    } else if (has_star) {
      p = star;
      n = star_name += character_at(name, star_name, size).length;
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
      else if (part_matches(pattern_.parts[__builtin_ctzll(left)], path + begin, end - begin,
                            pattern_.letters))
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
      out.hit = !pattern.way_only;
      out.ancestor = pattern.way_only;
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

// Whether a name of the path, behind its first `at` bytes, is the one that the pattern's "**" leads
// to. Most paths have none, and every name that is made is asked of dozens of patterns.
bool has_first_name(const Pattern& pattern, const char* path, uint32_t at, uint32_t size) {
  const Part& first = pattern.parts[1];
  for (uint32_t begin = at + 1, end; begin <= size; begin = end + 1) {
    for (end = begin; end < size && path[end] != '/';) ++end;
    if (part_matches(first, path + begin, end - begin, pattern.letters)) return true;
  }
  return false;
}

bool lies_below_head(const Pattern& pattern, const char* path, uint32_t size) {
  return same_text(pattern.head, path, pattern.head_size, pattern.letters) &&
         (size == pattern.head_size || path[pattern.head_size] == '/');
}

}  // namespace

bool part_matches(const Part& part, const char* name, uint32_t size, Letters letters) {
  if (part.kind == Part::kLiteral)
    return part.size == size && same_text(part.text, name, size, letters);
  if (size == 0 || part.size == 0) return glob_matches(part, name, size, letters);
  // Most names differ in their last letter already, and every name that is made is asked.
  char last = part.text[part.size - 1];
  bool stands_for_itself = last != '*' && last != '?' && last != ']';
  if (stands_for_itself && !same_letter(last, name[size - 1], letters)) return false;
  return glob_matches(part, name, size, letters);
}

bool begins_at_any_depth(const Pattern& pattern) {
  return pattern.count > 1 && pattern.parts[0].kind == Part::kAnyDepth &&
         pattern.parts[1].kind != Part::kAnyDepth;
}

bool needs_first_name(const Pattern& pattern, uint32_t size) {
  return size > 1 && size > pattern.head_size && begins_at_any_depth(pattern);
}

Match match(const Pattern& pattern, const char* path, uint32_t size) {
  Match out;
  if (size <= 1) size = 0;  // "/" is the ancestor of all
  if (size < pattern.head_size) {
    out.ancestor =
        same_text(pattern.head, path, size, pattern.letters) && pattern.head[size] == '/';
    return out;
  }
  if (!lies_below_head(pattern, path, size)) return out;
  if (pattern.only_in_older_folder && lies_in_modules(path, pattern.head_size, size)) return out;
  if (needs_first_name(pattern, size) && !has_first_name(pattern, path, pattern.head_size, size)) {
    out.loops = 1;
    return out;
  }
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

#include "warden/first_names.h"

#include "warden/match.h"

namespace caisson::warden {

namespace {

// Letters without their case, as the patterns have it.
uint32_t folded(char c) {
  return static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
}

// By its first letter, its last one and its length: `size` is not 0.
uint32_t bit_of(const char* name, uint32_t size) {
  return ((folded(name[0]) * 5 + folded(name[size - 1])) * 16 + size) % FirstNames::kBits;
}

const Part& first_of(const Pattern& pattern) { return pattern.parts[1]; }

bool begin_alike(const Pattern& a, const Pattern& b) {
  const Part &one = first_of(a), &other = first_of(b);
  if (one.size != other.size || a.letters != b.letters) return false;
  for (uint32_t i = 0; i < one.size; ++i)
    if (one.text[i] != other.text[i]) return false;
  return true;
}

}  // namespace

void FirstNames::add(const Pattern& pattern) {
  if (!begins_at_any_depth(pattern)) return;
  if (first_of(pattern).kind == Part::kLiteral)
    add_literal(first_of(pattern));
  else
    add_glob(pattern);
}

void FirstNames::add_literal(const Part& part) {
  if (part.size == 0) return;  // no name is
  uint32_t bit = bit_of(part.text, part.size);
  literals_[bit / 64] |= uint64_t{1} << bit % 64;
}

void FirstNames::add_glob(const Pattern& pattern) {
  for (uint32_t i = 0; i < glob_count_; ++i)
    if (begin_alike(*globs_[i], pattern)) return;
  too_many_ = too_many_ || glob_count_ == kMostGlobs;
  if (!too_many_) globs_[glob_count_++] = &pattern;
}

bool FirstNames::may_be(const char* name, uint32_t size) const {
  if (size == 0) return true;  // not canonical: let the patterns say
  uint32_t bit = bit_of(name, size);
  if (literals_[bit / 64] >> bit % 64 & 1) return true;
  for (uint32_t i = 0; i < glob_count_; ++i)
    if (part_matches(first_of(*globs_[i]), name, size, globs_[i]->letters)) return true;
  return false;
}

bool FirstNames::may_be_in(const char* path, uint32_t size) const {
  if (too_many_) return true;
  for (uint32_t begin = 1, end; begin < size; begin = end + 1) {
    for (end = begin; end < size && path[end] != '/';) ++end;
    if (may_be(path + begin, end - begin)) return true;
  }
  return false;
}

}  // namespace caisson::warden

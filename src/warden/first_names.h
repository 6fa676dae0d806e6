// Whether any of many patterns can mean a path, by one look at its names.
#pragma once

#include "warden/rules.h"

namespace caisson::warden {

// "/p/**/.git/hooks" means nothing that has no `.git` in its path. Nearly all names that are made
// have none of those that dozens of patterns begin with: that is found out once for all of them,
// and not pattern by pattern. It may say "perhaps" in vain; "no" is certain, so whatever is judged
// is judged by the patterns themselves.
class FirstNames {
 public:
  constexpr FirstNames() = default;
  FirstNames(const FirstNames&) = delete;
  FirstNames& operator=(const FirstNames&) = delete;
  void add(const Pattern&);
  bool may_be_in(const char* path, uint32_t size) const;

  static constexpr uint32_t kBits = 1024, kMostGlobs = 8;

 private:
  void add_literal(const Part&);
  void add_glob(const Pattern&);
  bool may_be(const char* name, uint32_t size) const;

  uint64_t literals_[kBits / 64] = {};
  const Pattern* globs_[kMostGlobs] = {};  // each first name once
  uint32_t glob_count_ = 0;
  bool too_many_ = false;
};

}  // namespace caisson::warden

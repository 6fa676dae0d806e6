// Which files of the host a session's policy keeps from its code, for those who open files on its
// behalf: what a cell can't see, rlm_load must not bring in.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/caller.h"
#include "policy/settings.h"
#include "session/session_host.h"

namespace caisson {

struct LoadDenials {
  std::vector<std::string> paths;              // of credentials: nothing shows them again
  std::vector<session::LoadPattern> patterns;  // of denyRead and allowRead
  // And what it opens, for the words about it.
  bool hosts = false, folders = false;
  void add(LoadDenials other);
  void give_to(session::SessionHostOptions& host) const;
};

void add_load_denials(const Settings& settings, const Caller& caller, LoadDenials& to);

// Of options of `caisson exec`, with the policy file or srt's settings that they name. What exec
// would refuse makes no cell, and hides everything.
LoadDenials load_denials_of(std::span<const std::string> words, const Caller& caller);
// The same, for one session of many: what exec would refuse is an error.
Result<session::HiddenFromLoad> hidden_by_words(std::span<const std::string> words,
                                                const Caller& caller);

}  // namespace caisson

// The words behind `--` of a server: options of `caisson exec` for its sessions. The server reads
// them for what its own part of the policy is, so it has to read them as exec will.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/job.h"
#include "policy/caller.h"
#include "policy/settings.h"

namespace caisson {

// Each cell's exec is started in "/", and who wrote the words was in a folder of his: files of
// --secret, --policy and --settings are named from there, once and for all. `folder`: where
// relative paths in srt's settings start, if the words don't say.
Result<std::vector<std::string>> whole_session_words(std::span<const std::string> words,
                                                     const Caller& caller,
                                                     const std::string& folder);

// The settings file of srt's that sessions have: the one of the server's own option, or the one
// that the words name. "": none.
Result<std::string> settings_of_sessions(const std::string& own,
                                         std::span<const std::string> words);

struct SessionPolicy {
  ExecFlags flags;
  Settings settings;  // with those of the policy file, or of srt's settings
};

// Nothing: exec refuses the options themselves, and says why when the first session is asked for.
Result<std::optional<SessionPolicy>> read_session_policy(std::span<const std::string> words,
                                                         Caller caller);

}  // namespace caisson

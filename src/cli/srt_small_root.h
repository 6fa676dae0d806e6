// srt's settings for a cell with caisson's own small root, which a session's is: nothing of the
// host is there but the system's folders and what the settings name. So it is never more than srt
// shows by the same file.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/job.h"
#include "cli/load_denials.h"
#include "srt/settings.h"

namespace caisson {

// Of --settings and --settings-folder. The caller's variables stay out.
Result<Settings> settings_in_small_root(const ExecFlags& flags, const Caller& caller);

// What a server has to know of the file ahead.
struct SettingsForSessions {
  std::vector<std::string> words;      // of `caisson exec`, for every session
  std::vector<std::string> variables;  // that the cell's gateway, and nobody else, has to be given
  std::vector<std::string> notes;
  LoadDenials load;  // what is hidden inside is not brought in by another way
};
// An error, with its reason, for what can't hold in a session.
Result<SettingsForSessions> settings_for_sessions(const std::string& file,
                                                  const std::string& folder);

}  // namespace caisson

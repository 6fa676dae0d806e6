// From srt's options to a job for the engine that every door shares.
#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/job.h"
#include "cli/srt_options.h"
#include "srt/mapping.h"
#include "srt/settings.h"

namespace caisson {

// The text of the settings and the name that errors give it; the built-in default when the usual
// file is missing.
struct SettingsText {
  std::string name, text;
  std::string path;  // absolute; "" when there is no file
};
Result<SettingsText> find_settings(const SrtOptions& options, const Caller& caller);
// Of cells in a small root, for which it is read more than once, and by a launcher that has other
// sessions, too: a regular file, and nothing that could hold who opens it.
Result<SettingsText> settings_in_file(const std::string& file, const Caller& caller);

struct SrtJob {
  Job job;
  srt::SrtSettings settings;
  std::vector<std::string> notes;  // for -d
  std::string command_text;        // what ignoreViolations looks at
  SettingsText source;
};

// The settings of a job as caisson's, with what they must not allow: writing to themselves and to
// caisson's record.
Result<srt::Mapped> mapped_settings(const SrtJob& from, const HostFiles& files);

Result<SrtJob> make_srt_job(const SrtOptions& options, const ProcessStart& start, Look look);

// A line of --control-fd: whole settings, of which the network's part counts.
Result<NetworkPolicy> network_of_srt_line(std::string_view line, const SrtOptions& options,
                                          const Job& job);

}  // namespace caisson

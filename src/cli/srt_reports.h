// The parts of srt that only tell: validate, wrap, keys.
#pragma once

#include <string>

#include "cli/srt_job.h"

namespace caisson {

// The version of srt whose behaviour this is, and our own.
inline constexpr std::string_view kSrtVersion = "0.0.83 (caisson " CAISSON_VERSION ")\n";

// One line per key of the settings, tab-separated: key, type, standing, meaning, test.
std::string srt_keys();

int srt_validate(const SrtOptions& options, const ProcessStart& start);

// One JSON object: the argv and the environment to start, and what will then run inside.
std::string srt_wrap(const SrtJob& job, const SrtOptions& options);

}  // namespace caisson

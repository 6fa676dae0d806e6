// The words behind `srt`: its options end at the first word of the command.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace caisson {

struct SrtOptions {
  enum class Verb { kRun, kValidate, kWrap, kKeys, kHelp, kVersion };

  Verb verb = Verb::kRun;
  bool debug = false, lenient = false, json = false;
  bool no_more_options = false;  // "--" was there
  std::string settings_file;     // "": the default one
  int settings_fd = -1, control_fd = -1, violations_fd = -1;
  std::string shell_text;  // of -c
  bool has_shell_text = false;
  std::vector<std::string> words;  // the command
};

Result<SrtOptions> read_srt_options(std::span<const std::string> args);

std::string srt_help();

}  // namespace caisson

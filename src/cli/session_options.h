// The words behind `caisson session`.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace caisson {

struct SessionOptions {
  std::string verb;                 // "new", "exec", … ; "snapshot save" is one
  std::vector<std::string> words;   // what is no option, in order
  std::vector<std::string> policy;  // behind "--": options of `caisson exec`
  bool json = false, help = false, list = false, save = false, no_ipython = false, resume = false;
  std::optional<std::string> code, expression, text, from, as, encoding, drop;
  std::string socket, python, workspace;
  std::vector<std::string> preload;
  std::optional<uint64_t> memory, cpu_millis, pids, max_bytes;
  std::optional<std::chrono::milliseconds> timeout;
};

extern const std::string_view kSessionHelp;
Result<SessionOptions> parse_session_options(std::span<const std::string> args);

}  // namespace caisson

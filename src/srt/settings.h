// srt's settings as values: what a file says, checked, with the paths as they were written.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "policy/network_policy.h"
#include "srt/check.h"

namespace caisson::srt {

struct PathEntry {
  std::string text;
  bool literal = false;
  std::string origin;  // "filesystem.denyRead[2]"
};

enum class ReadMode { kDenyList, kAllowList };

struct Filesystem {
  bool disabled = false, allow_git_config = false;
  ReadMode read_mode = ReadMode::kDenyList;
  std::vector<PathEntry> deny_read, allow_read, allow_write, deny_write;
};

struct Network {
  bool disabled = false, all_unix_sockets = false;
  std::vector<std::string> allowed, denied, denied_addresses, unix_sockets, publish;
  std::vector<std::pair<std::string, std::string>> reasons;  // of denied
  NetworkDetails details;                                    // but for the credentials
};

struct Credential {
  bool mask = false;  // else denied
  MaskSpec spec;      // `from` is the variable, or the file as it was written
  std::string origin;
};

// For commands that contain `command`, lines that contain one of `lines` are not reported.
struct Ignored {
  std::string command;  // "*": all
  std::vector<std::string> lines;
};

struct SrtSettings {
  Filesystem filesystem;
  Network network;
  std::vector<Credential> credentials;
  std::vector<Ignored> ignored;
  std::optional<std::vector<std::string>> safe_directories;
  std::vector<std::pair<std::string, std::string>> limits;  // {"memory", "256M"}
  bool allow_nested = false;
};

struct Reading {
  SrtSettings settings;
  std::vector<Problem> problems;  // then the settings are not to be used
  std::vector<Remark> remarks;
};

// `file` stands in front of the error of a text that is no JSON.
Result<Reading> read_settings(std::string_view text, const std::string& file, Unknown unknown);

// The settings, or the first of the problems as an error.
Result<SrtSettings> usable(Reading reading, const std::string& file);

}  // namespace caisson::srt

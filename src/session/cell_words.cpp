#include "session/cell_words.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/text.h"

namespace caisson::session {

namespace {

constexpr size_t kMostName = 64;
// Open files of the code in a session, and how many times as many its keeper has. Descriptors under
// way in sockets are counted for each user and held against the limit of who sends (unix(7),
// ETOOMANYREFS): code that fills it up to its own limit must leave room for the keepers of all.
constexpr uint64_t kFiles = 1024, kKeeperShare = 4, kMostFiles = 1048576;

bool is_identifier_path(std::string_view text) {
  return !text.empty() && text.size() <= 200 && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c >= 0x80;
  });
}

// The interpreter takes its part back (py/hardening.py).
std::vector<std::string> with_files_for_keeper(std::vector<std::string> words) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    uint64_t files = 0;
    const std::string& text = words[i + 1];
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), files);
    if (words[i] == "--files" && failed == std::errc{} && end == text.data() + text.size() &&
        files > kFiles && files <= kMostFiles)
      words[i + 1] = fmt::format("{}", std::min(files * kKeeperShare, kMostFiles));
  }
  return words;
}

}  // namespace

Result<void> check_name(std::string_view name, std::string_view of_what) {
  bool fits = !name.empty() && name.size() <= kMostName &&
              std::isalnum(static_cast<unsigned char>(name[0])) &&
              std::ranges::all_of(name, [](unsigned char c) {
                return c < 0x80 && (std::isalnum(c) || c == '.' || c == '_' || c == '-');
              });
  if (fits) return {};
  return Error{fmt::format("{} \"{}\": not a name", of_what, printable(name.substr(0, 80))),
               "1 to 64 of A-Z a-z 0-9 . _ -, starting with a letter or digit", EINVAL};
}

Result<void> check_spec(const SessionSpec& spec) {
  TRY(check_name(spec.name));
  for (const std::string& module : spec.preload)
    if (!is_identifier_path(module))
      return Error{fmt::format("preload {}: not a module's name", printable(module)),
                   "one module each time: --preload numpy --preload pandas", EINVAL};
  if (!spec.python.empty() && spec.python.find('\0') != std::string::npos)
    return Error::plain("python: not a path");
  if (!spec.workspace.empty() && !spec.workspace.starts_with('/'))
    return Error::plain(
        fmt::format("workspace {}: not an absolute path", printable(spec.workspace)),
        "name the folder from / on");
  if (spec.call_timeout.count() < 0 || spec.call_timeout > std::chrono::hours(24))
    return Error::plain("call timeout: between 0 (none) and 24 hours");
  return {};
}

std::vector<std::string> zygote_words(const SessionSpec& spec) {
  std::vector<std::string> words{"zygote", "3"};
  words.insert(words.end(), spec.preload.begin(), spec.preload.end());
  if (spec.ipython) words.push_back("+ipython");  // its shell, where there is one
  return words;
}

std::string zygote_key(const SessionSpec& spec) {
  return sha256_hex(spec.python + "\n" + join(zygote_words(spec), " ")).substr(0, 16);
}

std::vector<std::string> cell_words(const SessionSpec& spec, const std::string& workspace) {
  std::vector<std::string> words{
      "--memory",  fmt::format("{}", spec.memory_bytes),
      "--cpu",     fmt::format("{}.{:03}", spec.cpu_millis / 1000, spec.cpu_millis % 1000),
      "--pids",    fmt::format("{}", spec.pids),
      "--timeout", "none",  // the host has a clock for every call
      "--files",   fmt::format("{}", kFiles * kKeeperShare),
      "--env",     "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
  if (!workspace.empty()) words.insert(words.end(), {"--workspace", workspace});
  return words;
}

std::vector<std::string> private_words(const SessionSpec& spec) {
  return with_files_for_keeper(spec.policy_words);
}

std::vector<std::string> cell_command(const SessionSpec& spec,
                                      const std::vector<std::string>& kernel_words) {
  std::vector<std::string> words{spec.python.empty() ? "python3" : spec.python, "-I",
                                 "/proc/self/fd/4"};
  words.insert(words.end(), kernel_words.begin(), kernel_words.end());
  return words;
}

std::vector<std::string> files_of_secrets(const std::vector<std::string>& policy_words) {
  constexpr std::string_view kFlag = "--secret", kFile = "=file:";
  std::vector<std::string> files;
  for (size_t i = 0; i < policy_words.size(); ++i) {
    std::string_view text = policy_words[i];  // NAME=file:PATH@hosts
    if (text.starts_with("--secret="))
      text.remove_prefix(kFlag.size() + 1);
    else if (i == 0 || policy_words[i - 1] != kFlag)
      continue;
    size_t equals = text.find('='), at = text.rfind('@');
    if (equals == text.npos || at == text.npos || !text.substr(equals).starts_with(kFile)) continue;
    size_t begin = equals + kFile.size();
    if (at <= begin) continue;
    std::string_view path = text.substr(begin, at - begin);
    bool is_whole = path.starts_with('/') || path.starts_with("~/");
    files.push_back(fmt::format("{}{}", is_whole ? "" : "/", path));
  }
  return files;
}

}  // namespace caisson::session

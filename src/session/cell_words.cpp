#include "session/cell_words.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"

namespace caisson::session {

namespace {

constexpr size_t kMostName = 64;
bool is_identifier_path(std::string_view text) {
  return !text.empty() && text.size() <= 200 && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c >= 0x80;
  });
}

}  // namespace

Result<void> check_name(std::string_view name) {
  bool fits = !name.empty() && name.size() <= kMostName &&
              std::isalnum(static_cast<unsigned char>(name[0])) &&
              std::ranges::all_of(name, [](unsigned char c) {
                return c < 0x80 && (std::isalnum(c) || c == '.' || c == '_' || c == '-');
              });
  if (fits) return {};
  return Error::plain(fmt::format("session \"{}\": not a name", printable(name.substr(0, 80))),
                      "1 to 64 of A-Z a-z 0-9 . _ -, starting with a letter or digit");
}

Result<void> check_spec(const SessionSpec& spec) {
  TRY(check_name(spec.name));
  for (const std::string& module : spec.preload)
    if (!is_identifier_path(module))
      return Error::plain(fmt::format("preload {}: not a module's name", printable(module)));
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

std::vector<std::string> cell_words(const SessionSpec& spec, const std::string& workspace,
                                    const std::vector<std::string>& kernel_words) {
  std::vector<std::string> words{
      "--memory",  fmt::format("{}", spec.memory_bytes),
      "--cpu",     fmt::format("{}.{:03}", spec.cpu_millis / 1000, spec.cpu_millis % 1000),
      "--pids",    fmt::format("{}", spec.pids),
      "--timeout", "none",  // the host has a clock for every call
      "--env",     "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
  if (!workspace.empty()) words.insert(words.end(), {"--workspace", workspace});
  words.insert(words.end(), spec.policy_words.begin(), spec.policy_words.end());
  words.insert(words.end(),
               {"--", spec.python.empty() ? "python3" : spec.python, "-I", "/proc/self/fd/4"});
  words.insert(words.end(), kernel_words.begin(), kernel_words.end());
  return words;
}

}  // namespace caisson::session

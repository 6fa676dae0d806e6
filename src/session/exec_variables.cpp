#include "session/exec_variables.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "session/python_folders.h"

namespace caisson::session {

namespace {

constexpr std::string_view kSystemPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view kLanguage = "C.UTF-8";  // of programs inside, wherever the server runs

// What exec would hand to a cell.
bool would_enter(std::string_view name) {
  return name == "PATH" || name == "LANG" || name == "LANGUAGE" || name == "TZ" || name == "TERM" ||
         name.starts_with("LC_");
}

bool is_passed(const SessionSpec& spec, std::string_view name) {
  constexpr std::string_view kFlag = "--env-pass";
  const std::vector<std::string>& words = spec.policy_words;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == kFlag && i + 1 < words.size() && words[i + 1] == name) return true;
    if (words[i] == fmt::format("{}={}", kFlag, name)) return true;
  }
  return false;
}

}  // namespace

// The name is looked for inside as well, and in the same order: a program that is not to be seen
// there gives way to the system's.
std::string cell_path(const std::string& python, std::string_view path) {
  std::string program = find_python(python, path);
  size_t slash = program.rfind('/');
  std::string system(kSystemPath);
  if (!program.starts_with('/') || slash == 0) return system;
  std::string folder = program.substr(0, slash);
  if (folder.find(':') != folder.npos) return system;  // it would be two folders
  bool by_name = python.find('/') == python.npos;
  if (by_name && find_python(python, system) == program) return system;
  if (!by_name && std::ranges::count(split(kSystemPath, ':'), std::string_view(folder)) > 0)
    return system;
  return fmt::format("{}:{}", folder, system);
}

std::string_view value_of(const std::vector<std::string>& variables, std::string_view name) {
  for (std::string_view one : variables)
    if (one.starts_with(name) && one.substr(name.size()).starts_with('='))
      return one.substr(name.size() + 1);
  return {};
}

std::vector<std::string> exec_variables(const std::vector<std::string>& ours,
                                        const SessionSpec& spec) {
  if (!control_enabled("session-variables")) return ours;
  std::vector<std::string> kept;
  bool has_path = false, has_language = false;
  for (const std::string& one : ours) {
    std::string_view name = std::string_view(one).substr(0, one.find('='));
    if (would_enter(name) && !is_passed(spec, name)) continue;
    has_path = has_path || name == "PATH";
    has_language = has_language || name == "LANG";
    kept.push_back(one);
  }
  if (!has_path) kept.push_back("PATH=" + cell_path(spec.python, value_of(ours, "PATH")));
  if (!has_language) kept.push_back(fmt::format("LANG={}", kLanguage));
  return kept;
}

}  // namespace caisson::session

#include "cli/session_policy.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "cli/srt_small_root.h"
#include "policy/places.h"
#include "policy/schema.h"

namespace caisson {

namespace {

constexpr std::string_view kFromFile = "=file:";

Result<std::string> whole(const std::string& path, const Caller& caller) {
  if (path.empty() || path.starts_with('/')) return path;
  if (path.starts_with("~/")) return caller.home + path.substr(1);
  if (caller.cwd.starts_with('/')) return join_path(caller.cwd, path);
  return Error::plain(fmt::format("{}: the current folder is gone", printable(path)),
                      "write an absolute path");
}

// NAME=file:PATH@hosts
Result<std::string> whole_secret(const std::string& text, const Caller& caller) {
  size_t equals = text.find('='), at = text.rfind('@');
  bool is_file = equals != std::string::npos && text.substr(equals).starts_with(kFromFile);
  size_t begin = equals + kFromFile.size();
  if (!is_file || at == std::string::npos || at < begin) return text;
  return text.substr(0, begin) + TRY(whole(text.substr(begin, at - begin), caller)) +
         text.substr(at);
}

bool names_a_file(std::string_view flag) {
  return flag == "--policy" || flag == "--settings" || flag == "--settings-folder";
}

Result<std::string> whole_value(std::string_view flag, const std::string& value,
                                const Caller& caller) {
  if (flag == "--secret" && control_enabled("session-secret-file"))
    return whole_secret(value, caller);
  return names_a_file(flag) ? whole(value, caller) : value;
}

bool takes_a_word(std::string_view flag) {
  if (names_a_file(flag)) return true;
  auto found = std::ranges::find(setting_specs(), flag, &SettingSpec::flag);
  return found != setting_specs().end() && found->arity != Arity::kSwitch &&
         found->arity != Arity::kGrant;
}

// What words could not say is not made whole: there the file would be one for a cell's gateway, and
// another one for who keeps sessions from reading it.
Result<void> check_secrets(const Settings& settings) {
  for (const auto& [spec, origin] : settings.secrets) {
    bool is_whole = spec.from.starts_with('/') || spec.from.starts_with("~/");
    if (spec.source != SecretSource::kFile || is_whole) continue;
    if (!control_enabled("session-secret-file")) continue;
    return Error::plain(fmt::format("{}: secret {}: file:{} depends on where one is, and sessions "
                                    "start in no folder of yours",
                                    origin, spec.name, printable(spec.from)),
                        "name the file from / on");
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> whole_session_words(std::span<const std::string> words,
                                                     const Caller& caller,
                                                     const std::string& folder) {
  std::vector<std::string> out;
  bool has_settings = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    size_t equals = word.find('=');
    std::string flag = word.substr(0, equals);
    if (word.size() < 2 || word[0] != '-' || word == "--") {  // exec's options end here
      out.insert(out.end(), words.begin() + static_cast<long>(i), words.end());
      break;
    }
    has_settings = has_settings || flag == "--settings";
    if (equals != std::string::npos) {
      std::string value = TRY(whole_value(flag, word.substr(equals + 1), caller));
      out.push_back(fmt::format("{}={}", flag, value));
      continue;
    }
    out.push_back(word);
    if (takes_a_word(flag) && i + 1 < words.size())
      out.push_back(TRY(whole_value(flag, words[++i], caller)));
  }
  if (has_settings) out.insert(out.begin(), {"--settings-folder", folder});
  return out;
}

Result<std::string> settings_of_sessions(const std::string& own,
                                         std::span<const std::string> words) {
  Settings settings;
  Command command;
  Result<ExecFlags> flags = read_flags(words, settings, command);
  if (!flags || flags->settings_file.empty()) return own;
  if (!control_enabled("session-load-settings")) return own;
  const std::string& named = flags->settings_file;
  if (own.empty() || own == named) return named;
  return Error::plain(fmt::format("two settings: --settings {}, and {} behind --", printable(own),
                                  printable(named)),
                      "give one of them");
}

Result<std::optional<SessionPolicy>> read_session_policy(std::span<const std::string> words,
                                                         Caller caller) {
  caller.cwd = "/";
  std::optional<SessionPolicy> none;
  SessionPolicy out;
  Command command;
  Result<ExecFlags> flags = read_flags(words, out.settings, command);
  if (!flags) return none;
  out.flags = std::move(*flags);
  std::string &policy = out.flags.policy_file, &settings = out.flags.settings_file;
  if (!policy.empty() && !settings.empty()) return none;
  for (std::string* file : {&policy, &settings})
    if (!file->empty() && !file->starts_with('/')) file->insert(0, "/");
  if (!policy.empty()) {
    std::string text = TRY(read_policy_file(policy));
    out.settings = {};
    TRY(apply_policy_json(out.settings, text, policy));
    TRY(read_flags(words, out.settings, command));
  } else if (!settings.empty()) {
    out.settings = TRY(settings_in_small_root(out.flags, caller));
    TRY(read_flags(words, out.settings, command));
  }
  TRY(check_secrets(out.settings));
  return std::optional(std::move(out));
}

}  // namespace caisson

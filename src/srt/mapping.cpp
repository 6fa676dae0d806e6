#include "srt/mapping.h"

#include <fmt/format.h>

#include "policy/schema.h"
#include "policy/units.h"

namespace caisson::srt {

namespace {

// srt has no limits. What is left is what memory the private folders may take.
constexpr uint64_t kPrivateBytes = uint64_t{4} << 30;
constexpr uint64_t kNoLimit = uint64_t{1} << 56;

void lift_limits(Settings& settings) {
  const Origin origin = "srt has no limits";
  settings.timeout.set(std::nullopt, origin);
  settings.memory.set(0, origin);
  settings.pids.set(0, origin);
  settings.files.set(0, origin);
  settings.file_size.set(kNoLimit, origin);
  settings.cpu_millis.set(0, origin);
  settings.output_limit.set(kNoLimit, origin);
  settings.tmp_size.set(kPrivateBytes, origin);
}

Result<void> map_limits(const SrtSettings& said, Settings& settings) {
  lift_limits(settings);
  for (const auto& [name, text] : said.limits)
    for (const SettingSpec& spec : setting_specs())
      if (spec.key == "limits." + name) TRY(apply_setting(spec, settings, text, Origin(spec.key)));
  return {};
}

Result<std::string> put_behind(const std::string& home, const std::string& cwd,
                               const std::string& text) {
  std::string path = text;
  if (text == "~" || text.starts_with("~/")) path = home + text.substr(1);
  if (!path.starts_with('/') && cwd.empty())
    return Error::plain(fmt::format("{}: the current folder is gone", in_quotes(text)),
                        "start srt in a folder that is there");
  return clean_path(path, cwd);
}

std::string home_of(const Caller& caller) {
  return caller.env("HOME").empty() ? caller.home : caller.env("HOME");
}

}  // namespace

std::string escaped(const std::string& path) {
  std::string out;
  for (char c : path)
    out += c == '*' || c == '?' || c == '[' ? fmt::format("[{}]", c) : std::string(1, c);
  return out;
}

Result<std::string> absolute_path(const std::string& text, const Caller& caller) {
  return put_behind(home_of(caller), caller.cwd, text);
}

Result<std::string> absolute_pattern(const std::string& text, const Caller& caller) {
  return put_behind(escaped(home_of(caller)), escaped(caller.cwd), text);
}

Result<Mapped> map_settings(const Scene& scene) {
  Mapped mapped;
  TRY(map_limits(scene.said, mapped.settings));
  TRY(map_files(scene, mapped));
  TRY(map_network(scene, mapped));
  map_environment(scene, mapped);
  if (scene.said.allow_nested)
    mapped.settings.allow_nested.set("allowNestedUserNamespaces", "allowNestedUserNamespaces");
  return mapped;
}

}  // namespace caisson::srt

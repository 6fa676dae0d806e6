// The SANDBOX_* variables, by the table.
#include "policy/schema.h"
#include "policy/units.h"

#include <fmt/format.h>

namespace caisson {

// A grant's variable is a switch; the reason it leaves on record is its own name.
static Result<std::string> grant_reason(const SettingSpec& spec, std::string_view text) {
  Result<bool> given = parse_bool(text);
  if (!given)
    return Error::plain(fmt::format("{}: {}", spec.variable, given.error().what),
                        given.error().hint);
  return *given ? std::string(spec.variable) : std::string();
}

Result<void> apply_environment(Settings& settings,
                               const std::map<std::string, std::string>& environment) {
  for (const SettingSpec& spec : setting_specs()) {
    if (spec.variable.empty()) continue;
    auto found = environment.find(std::string(spec.variable));
    if (found == environment.end() || found->second.empty()) continue;
    std::string text = found->second;
    if (spec.arity == Arity::kGrant) text = TRY(grant_reason(spec, text));
    TRY(apply_setting(spec, settings, text, Origin(spec.variable)));
  }
  return {};
}

}  // namespace caisson

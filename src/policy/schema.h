// One table says every setting once: its flag, its key in a policy file, its variable, its help.
// The command line, the JSON reader, the environment reader and the docs page all walk it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "policy/settings.h"

namespace caisson {

enum class Arity {
  kSwitch,    // --tty                (JSON: true/false)
  kGrant,     // --allow-network      (JSON: "the reason", never empty); a hole with a name
  kValue,     // --workdir DIR        (JSON: a string)
  kQuantity,  // --memory 256M        (JSON: "256M" or a number)
  kList,      // --mount A:B --mount… (JSON: array of strings)
  kPairs,     // --env K=V            (JSON: object of strings; the text given to apply is "K=V")
};

struct SettingSpec {
  std::string_view flag;      // "--memory"; empty: no flag
  std::string_view key;       // "limits.memory" in a policy file; empty: none
  std::string_view variable;  // "SANDBOX_MEMORY_LIMIT"; empty: none
  Arity arity;
  std::string_view metavar;  // "SIZE"; empty for switches and grants, which take no value
  std::string_view group;    // "limits", "files", "environment", "network", "process"
  std::string_view help;     // one line
  // `text` is "true"/"false" for a switch; the reason for a grant, "" to take it back.
  Result<void> (*apply)(Settings&, std::string_view text, const Origin&);
  std::string_view fallback = {};  // what holds when nobody says anything; empty: not set
  std::string_view why = {};       // the reason for that default
};

std::span<const SettingSpec> setting_specs();
// The fields that --best-effort takes.
std::span<const std::string_view> best_effort_fields();

// Checks the bounds, applies, and puts `origin` in front of an error.
Result<void> apply_setting(const SettingSpec&, Settings&, std::string_view text, const Origin&);
// Every fallback of the table, applied with the origin "default".
Settings default_settings();

// Each reads into `settings`; the caller orders them: file, then variables, then flags.
// Scalars overwrite, lists append.
Result<void> apply_policy_json(Settings&, std::string_view text, const std::string& file_name);
Result<void> apply_environment(Settings&, const std::map<std::string, std::string>& environment);
// Consumes leading options of `args` that the table knows; stops at "--" (consumed) or the first
// word that is no option. `other` is asked first for flags that are not settings (--json-output …);
// it returns true when it took the flag.
struct FlagCursor {
  std::span<const std::string> args;
  size_t at = 0;
  Result<std::string> value_for(std::string_view flag);  // the next word, or the part behind '='
  std::optional<std::string> inline_value;
};
using OtherFlag = Result<bool> (*)(void* context, std::string_view flag, FlagCursor&);
Result<void> apply_flags(Settings&, FlagCursor&, OtherFlag other, void* context,
                         std::span<const std::string_view> other_names);

}  // namespace caisson

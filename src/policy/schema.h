// One table says every setting once: its flag, its key in a policy file, its variable, its help.
// The command line, the JSON reader, the environment reader and the docs page all walk it.
#pragma once

#include <span>
#include <string_view>

#include "policy/settings.h"

namespace caisson {

enum class Arity {
  kSwitch,  // --tty                (JSON: true/false)
  kValue,   // --memory 256M        (JSON: "256M" or a number)
  kList,    // --mount A:B --mount… (JSON: array)
  kPairs,   // --env K=V            (JSON: object; the value given to apply is "K=V")
};

struct SettingSpec {
  std::string_view flag;      // "--memory"; empty: no flag
  std::string_view key;       // "limits.memory" in a policy file; empty: none
  std::string_view variable;  // "SANDBOX_MEMORY_LIMIT"; empty: none
  Arity arity;
  std::string_view metavar;   // "SIZE"
  std::string_view group;     // "limits", "files", "environment", "network", "process", "grants"
  std::string_view help;      // one line
  // `text` is "true"/"false" for a switch.
  Result<void> (*apply)(Settings&, std::string_view text, const Origin&);
};

std::span<const SettingSpec> setting_specs();

// Each reads into `settings`; the caller orders them: file, then variables, then flags.
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
